package memories

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/work"
)

// DreamerOf returns the work of the dreamer for a project.
func DreamerOf(project string) work.Work {
	return work.Work{Agent: work.Dreamer, Subject: work.Subject{Project: project}}
}

// A Tended is a change by the dreamer: one memory replaces others, several replace one, or memories are archived. Old
// holds the replaced or archived memories as the dreamer has read them.
type Tended struct {
	Old     []chronicle.Memory
	Content string // the text of the new memory, or "" if the old memories are archived
	// If a memory is split into several, Content is the text of the first one, and More contains the texts of the others.
	More   []string
	Reason string // why the old memories are archived
}

// Tend applies the changes that a run of the dreamer has decided on, in one transaction. If a memory was changed since
// the dreamer read it, Tend leaves it unchanged. Undo later finds the changes by the number `run`. If `run` is 0, Tend
// chooses a new number.
//
// In the same transaction, Tend calls `account` with the run's number and the changes that it has made, and stores the
// result of the call: a JSON object that describes everything the run has done. If the run has lost its lease, Tend
// fails with work.ErrLeaseLost.
func (s *Memories) Tend(ctx context.Context, project, holder string, run int, changes []Tended, account func(number int, made []Tended) string) error {
	w := DreamerOf(project)
	err := s.db.Update(ctx, func(tx *database.Tx) error {
		now := s.db.Clock.Now()
		if err := work.CheckLease(tx, w, holder, 0, now); err != nil {
			return err
		}
		number := run
		if number == 0 {
			err := tx.Scan(`SELECT coalesce(max(run), 0) + 1 FROM memory_changes WHERE project = ?`, func(row *sqlite3.Stmt) { number = row.ColumnInt(0) }, project)
			if err != nil {
				return err
			}
		}
		e := &Editor{tx, now, number}
		var made []Tended
		for _, c := range changes {
			isMade, err := e.tend(project, c)
			if err != nil {
				return err
			}
			if isMade {
				made = append(made, c)
			}
		}
		if err := work.SaveUnfinished(tx, w, account(number, made)); err != nil {
			return err
		}
		return work.Credit(tx, holder, 0, len(made), 0)
	})
	if err != nil {
		return fmt.Errorf("tend memories of %s: %w", project, err)
	}
	return nil
}

func (e *Editor) tend(project string, c Tended) (isMade bool, err error) {
	var ids []int64
	for _, m := range c.Old {
		now, err := e.Reader().Memory(project, m.ID)
		if err != nil && !errors.Is(err, ErrUnknown) {
			return false, err
		}
		if err != nil || now.Content != m.Content || now.Category != c.Old[0].Category || now.Status != m.Status || now.Permanent != m.Permanent {
			return false, nil
		}
		ids = append(ids, m.ID)
	}
	if c.Content == "" {
		_, err := e.Archive(project, ids, c.Reason)
		return err == nil, err
	}
	m := chronicle.Memory{Project: project, Directory: c.Old[0].Directory, Category: c.Old[0].Category, Content: c.Content, Source: chronicle.FromAgent}
	if len(c.More) > 0 {
		return split(e, c.Old[0], m, c.More)
	}
	same, err := e.Same(m)
	switch {
	case err != nil:
		return false, err
	case same != nil && !slices.Contains(ids, same.ID):
		return false, nil // another memory, perhaps an archived one, already has this content
	case same != nil: // it stays as it is
		ids = slices.DeleteFunc(ids, func(id int64) bool { return id == same.ID })
		_, err = e.end(project, ids, chronicle.MemoryIsSuperseded, chronicle.MemoryChange{Kind: chronicle.MemorySuperseded, SupersededBy: same.ID})
		return err == nil && len(ids) > 0, err
	}
	m.Category = "" // the category of the old memories, which must be the same
	_, _, err = e.replace(ids, m)
	if _, isRefused := errors.AsType[Refusal](err); isRefused {
		return false, nil // for example, the new text is too long for a memory
	}
	return err == nil, err
}

// split replaces the memory `old` with several new memories. The first one is `first`. Each text in `more` becomes a
// further memory. If a memory with one of these contents already exists, even an archived one, split changes nothing.
func split(e *Editor, old, first chronicle.Memory, more []string) (isMade bool, err error) {
	for _, content := range append([]string{first.Content}, more...) {
		m := first
		m.Content = content
		if same, err := e.Same(m); err != nil || same != nil {
			return false, err
		}
	}
	by, _, err := e.replace([]int64{old.ID}, first)
	if err != nil {
		return false, err
	}
	for _, content := range more {
		m := by
		m.Content = textOf(content)
		if m.ID, err = e.insert(m); err != nil {
			return false, err
		}
		if _, err := e.tx.Exec(`UPDATE memories SET superseded_by = ?2 WHERE id = ?1`, old.ID, m.ID); err != nil {
			return false, err
		}
		ch := chronicle.MemoryChange{Project: old.Project, Kind: chronicle.MemorySuperseded, Memory: old.ID, SupersededBy: m.ID}
		if err := e.log(ch); err != nil {
			return false, err
		}
	}
	return true, nil
}

// maxNamed is how many projects an error names.
const maxNamed = 3

//go:embed query/runs_of.sql
var runsOfSQL string

// Ended returns the memories that a run of a project's dreamer has superseded or archived. If there are none, the error
// is a Refusal. Each project numbers its runs from 1, so the user may mean the run of another project. The Refusal
// therefore names the other projects that have a run with this number.
func (r *Reader) Ended(project string, run int) (ended []chronicle.MemoryChange, err error) {
	err = r.scan(changeSQL+` WHERE project = ? AND run = ? AND run > 0 ORDER BY id`,
		func(row *sqlite3.Stmt) { ended = append(ended, readChange(row)) }, project, run)
	if err != nil || len(ended) > 0 {
		return ended, err
	}
	var others []string
	if err := r.scan(runsOfSQL, func(row *sqlite3.Stmt) { others = append(others, format.Clean(row.ColumnText(0))) }, project, run); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("the project's dreamer has changed no memories in a run %d", run)
	if len(others) > 0 {
		text += "; a run " + strconv.Itoa(run) + " belongs to " + strings.Join(others[:min(len(others), maxNamed)], ", ") + ": name that directory with --project"
	}
	return nil, Refusal(text)
}

//go:embed query/later_run.sql
var laterRunSQL string

//go:embed query/undo_credit.sql
var undoCreditSQL string

//go:embed query/undo_restored.sql
var undoRestoredSQL string

// Undo reverses the changes of a run of a project's dreamer. If a memory was changed after the run, it stays. If a
// later run has replaced or archived a memory of this run, the error is a Refusal that names the later run.
func (e *Editor) Undo(project string, run int) (changed []chronicle.Memory, err error) {
	ended, err := e.Reader().Ended(project, run)
	if err != nil {
		return nil, err
	}
	later := 0
	err = e.Reader().scan(laterRunSQL, func(row *sqlite3.Stmt) { later = row.ColumnInt(0) }, project, run)
	if err != nil {
		return nil, err
	}
	if later > 0 {
		return nil, Refuse("run %d of the dreamer has changed what run %d has written; undo run %d first", later, run, later)
	}
	restored := make(map[int64]int64)           // the time at which the run ended a memory, by its id
	for _, ch := range slices.Backward(ended) { // backwards, because the run may have archived a memory that it had written
		m, err := e.Reader().Memory(project, ch.Memory)
		if err != nil && !errors.Is(err, ErrUnknown) {
			return nil, err
		}
		isSuperseded := m.Status == chronicle.MemoryIsSuperseded && m.SupersededBy == ch.SupersededBy
		isArchived := m.Status == chronicle.MemoryIsArchived && ch.Kind == chronicle.MemoryArchived
		at, isRestored := restored[ch.Memory] // a split has a change for each new memory
		if err != nil || isRestored && at != ch.At || !isRestored && (!isSuperseded && !isArchived || m.UpdatedAt != ch.At) {
			continue
		}
		if !isRestored {
			expires := m.ExpiresAt
			if m, err = e.Restore(project, m.ID); err == nil {
				_, err = e.tx.Exec(undoRestoredSQL, m.ID, ch.At, expires)
			}
			if err != nil {
				return nil, err
			}
			changed, restored[m.ID] = append(changed, m), ch.At
		}
		by, err := e.Reader().Memory(project, ch.SupersededBy)
		if err != nil && !errors.Is(err, ErrUnknown) {
			return nil, err
		}
		_, isUntouched := restored[by.ID]
		isUntouched = isUntouched || by.UpdatedAt == ch.At
		if err == nil && by.Status == chronicle.MemoryIsActive && by.CreatedAt == ch.At && isUntouched {
			if _, err = e.Archive(project, []int64{by.ID}, fmt.Sprintf("run %d of the dreamer was undone", run)); err != nil {
				return nil, err
			}
		}
	}
	if len(restored) > 0 {
		if _, err := e.tx.Exec(undoCreditSQL, project, run); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(changed, func(m chronicle.Memory) bool {
		now, err := e.Reader().Memory(project, m.ID)
		return err == nil && now.Status != chronicle.MemoryIsActive
	}), nil
}
