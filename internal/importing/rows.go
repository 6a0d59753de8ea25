package importing

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/plugindb"
)

const (
	isTakenBefore  = "taken before"
	isKnown        = "magicctx has the same"
	isOdd          = "a value is none that the plugin writes"
	hasNoProject   = "its project is not known"
	isNotHere      = "its session is not on this machine"
	isDismissed    = "dismissed"
	hasNoText      = "it has no text"
	hasTooMuchText = "its text has more than 10,000 characters"
	isTooMany      = "there are 200 open notes already"
)

// The function `refused` returns the reason why a memory or a note was refused. The reason has no details, so that the
// report can count all rows that were refused for the same reason.
func refused(err error) (string, error) {
	refusal, ok := errors.AsType[memories.Refusal](err)
	switch {
	case !ok:
		return "", err
	case strings.HasPrefix(string(refusal), "content is empty"):
		return hasNoText, nil
	case strings.HasPrefix(string(refusal), "there are"):
		return isTooMany, nil
	}
	return hasTooMuchText, nil
}

// The function `once` wraps `do`, which stores a row. The result calls `do` only if no earlier import has stored a row
// with this name. If `do` stores the row, the result records the name. So an import can be repeated, and stores each
// row only once.
func once(name []string, do put) put {
	return func(i *store.Import) (string, error) {
		wasTaken, err := i.WasTaken(name...)
		if err != nil || wasTaken {
			return isTakenBefore, err
		}
		reason, err := do(i)
		if err == nil && (reason == "" || reason == isKnown) {
			err = i.NoteTaken(name...)
		}
		return reason, err
	}
}

// oldCategories maps categories of older versions of the plugin to today's categories. Memories of some old categories
// may not be facts about the project. For these, isForReview is set, so that a person decides about each memory (memory
// review).
var oldCategories = map[string]struct {
	category    string
	isForReview bool
}{
	"WORKFLOW_RULES": {"PROJECT_RULES", false}, "ARCHITECTURE_DECISIONS": {"ARCHITECTURE", false},
	"CONFIG_DEFAULTS": {"CONFIG_VALUES", false}, "ENVIRONMENT": {"CONFIG_VALUES", false},
	"USER_DIRECTIVES": {"PROJECT_RULES", true}, "USER_PREFERENCES": {"PROJECT_RULES", true}, "KNOWN_ISSUES": {"CONSTRAINTS", true},
}

var sources = map[string]chronicle.Source{
	"historian": chronicle.FromHistorian, "agent": chronicle.FromAgent, "dreamer": chronicle.FromAgent, "user": chronicle.FromUser,
}

var memoryColumns = []string{
	"project_path", "category", "content", "status", "source_type", "source_session_id", "importance", "seen_count", "created_at", "updated_at",
	"last_seen_at", "expires_at", "superseded_by_memory_id",
}

// takeMemories takes superseded memories last, because a superseded memory refers to the memory that replaces it, which
// must exist by then.
func (x *run) takeMemories() error {
	const order = `ORDER BY superseded_by_memory_id IS NOT NULL, CASE WHEN superseded_by_memory_id IS NULL THEN id ELSE -id END`
	return x.each("memories", memoryColumns, order, func(r *plugindb.Row) (put, error) {
		m, reason, err := x.memory(r)
		if err != nil || reason != "" {
			return skip(reason), err
		}
		var successor chronicle.Memory
		if id := r.Int(12); id != 0 {
			m.Status = chronicle.MemoryIsArchived
			err = x.db.Each("memories", memoryColumns, "WHERE id = ?", func(r *plugindb.Row) (err error) {
				successor, _, err = x.memory(r)
				return err
			}, id)
		}
		name := []string{"memory", r.Text(0), r.Text(1), r.Text(2)}
		return once(name, func(i *store.Import) (string, error) {
			if successor.Content != "" {
				by, err := i.Same(successor)
				if err != nil {
					return "", err
				}
				if by != nil && by.Project == m.Project {
					m.Status, m.SupersededBy = chronicle.MemoryIsSuperseded, by.ID
				}
			}
			_, isNew, err := i.Take(m)
			if err == nil && !isNew {
				return isKnown, nil
			}
			return refused(err)
		}), err
	})
}

func (x *run) memory(r *plugindb.Row) (m chronicle.Memory, reason string, err error) {
	m = chronicle.Memory{
		Category: r.Text(1), Content: r.Text(2), Source: sources[cmp.Or(r.Text(4), "historian")], Session: r.Text(5),
		Importance: int(min(100, max(0, r.Int(6)))), Seen: int(min(1_000, r.Int(7))), CreatedAt: r.Int(8), UpdatedAt: r.Int(9), SeenAt: r.Int(10), ExpiresAt: r.Int(11),
	}
	if m.Session != "" {
		m.Harness = "pi"
		if strings.HasPrefix(m.Session, "ses_") {
			m.Harness = "opencode"
		}
	}
	old, isOld := oldCategories[m.Category]
	if isOld {
		m.Category = old.category
	}
	switch status := cmp.Or(r.Text(3), "active"); status {
	case "active", "permanent":
		m.Status, m.Permanent = chronicle.MemoryIsActive, status == "permanent"
		if old.isForReview {
			m.Status = chronicle.MemoryIsProposed
		}
	case "archived":
		m.Status = chronicle.MemoryIsArchived
	default:
		return m, isOdd, nil
	}
	if !slices.Contains(chronicle.Categories[:], m.Category) || m.Source == "" {
		return m, isOdd, nil
	}
	if m.ExpiresAt != 0 && m.ExpiresAt <= x.Clock.Now() {
		return m, "expired", nil
	}
	if m.Project, err = x.project(r.Text(0)); err == nil && m.Project == "" {
		reason = hasNoProject
	}
	return m, reason, err
}

// takeNotes takes the open notes of sessions, and the notes of projects that wait for a condition.
func (x *run) takeNotes() error {
	columns := []string{"type", "status", "content", "session_id", "project_path", "surface_condition", "created_at", "harness", "anchor_ordinal"}
	return x.each("notes", columns, "ORDER BY id", func(r *plugindb.Row) (put, error) {
		n := chronicle.Note{Content: r.Text(2), CreatedAt: r.Int(6), Message: int(r.Int(8))}
		name := []string{"note", r.Text(0), r.Text(2), r.Text(3), r.Text(4), r.Text(5)}
		kind, status := cmp.Or(r.Text(0), "session"), cmp.Or(r.Text(1), "active")
		directory := ""
		switch {
		case status == "dismissed":
			return skip(isDismissed), nil
		case kind == "session" && status == "active":
			stored := x.sessions[r.Text(3)]
			if stored == nil {
				return skip(isNotHere), nil
			}
			n.Harness, n.Session, directory = string(stored.Harness), stored.ID, stored.Directory
		case kind == "smart" && (status == "pending" || status == "ready"):
			var err error
			if n.Condition = r.Text(5); n.Condition == "" {
				return skip(isOdd), nil
			}
			if n.Project, err = x.project(r.Text(4)); err != nil || n.Project == "" {
				return skip(hasNoProject), err
			}
		default:
			return skip(isOdd), nil
		}
		return once(name, func(i *store.Import) (string, error) {
			if n.Session != "" {
				if err := i.Session(store.Key{Harness: n.Harness, Session: n.Session}, directory); err != nil {
					return "", err
				}
			}
			return refused(i.TakeNote(n))
		}), nil
	})
}
