package checks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/project"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/internal/terms"
	"github.com/magicctx/magicctx-host/store/index"
	"github.com/magicctx/magicctx-host/store/memories"
)

const (
	// A project may have 200 waiting notes. The limit is higher, because a project that was joined from two may have
	// the notes of both.
	maxNotes = 400
	// maxMerges bounds how many branches one test checks, because each branch needs several runs of git.
	maxMerges = 20
	maxRuns   = 200
)

// noteWaiting tests the project's notes soon after a pass. This cannot wait: if a note waits for the merge of a branch,
// the host must see the branch's newest commit before the merge. A replay has no index and tests nothing, because
// today's files differ from the files of the recorded session.
func (t *Tester) noteWaiting(s *session.Session) {
	directory, project := s.Row.Directory, s.Row.Project
	if t.IndexDir == "" || project == "" || !t.begin(directory) {
		return
	}
	t.Background.Go(func() {
		defer t.end(directory)
		ctx := t.Background.Lifetime()
		select {
		case <-ctx.Done():
			return
		case <-time.After(t.After):
		}
		if err := t.TestNotes(ctx, directory, project); err != nil && ctx.Err() == nil {
			t.Log.Info("notes are not tested", "directory", directory, "error", err)
		}
	})
}

func (t *Tester) begin(directory string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running[directory] {
		return false
	}
	t.running[directory] = true
	return true
}

func (t *Tester) end(directory string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, directory)
}

// TestNotes tests the conditions of a project's notes in one of the project's directories, and stores the results. It
// skips notes that it has tested in the last minutes.
func (t *Tester) TestNotes(ctx context.Context, directory, identity string) error {
	waiting, err := t.Store.Memories.Waiting(ctx, identity, maxNotes)
	waiting = t.due(waiting)
	if err != nil || len(waiting) == 0 {
		return err
	}
	root, err := os.OpenRoot(project.Root(directory))
	if err != nil {
		return err
	}
	defer root.Close()
	place := site{Tester: t, root: root, directory: directory, identity: identity, merges: maxMerges}
	defer place.close()
	var changed []memories.Tested
	for _, w := range waiting {
		c, isTestable, err := chronicle.ParseCondition(w.Condition)
		if err != nil || !isTestable { // an imported text may look like a condition
			continue
		}
		result := memories.Tested{Waiting: w}
		result.Reason, result.Seen, err = place.test(ctx, c, w)
		if errors.Is(err, errLater) {
			t.forget(w)
			continue
		}
		if err != nil {
			t.Log.Debug("the condition of a note is not tested", "note", w.ID, "error", err)
			continue
		}
		if result.Reason != "" || result.Seen != w.Seen {
			changed = append(changed, result)
		}
	}
	if len(changed) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	writing, cancel := t.Guard.Writing(ctx)
	defer cancel()
	err = t.Store.Memories.Settle(writing, changed)
	t.Guard.Wrote(err)
	return err
}

// An attempt is a note that was tested. `since` is the time of the note's newest change. So after a change, the note
// counts as untested.
type attempt struct{ note, since int64 }

func (t *Tester) due(waiting []memories.Waiting) (due []memories.Waiting) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.Clock.Now()
	maps.DeleteFunc(t.tried, func(_ attempt, at int64) bool { return now-at >= apart.Milliseconds() })
	for _, w := range waiting {
		a := attempt{w.ID, w.Since}
		if _, isTested := t.tried[a]; !isTested {
			t.tried[a] = now
			due = append(due, w)
		}
	}
	return due
}

// errLater means that git has run often enough, so this note is left for the next run of TestNotes. That run begins
// with this note, so every note is tested in the end.
var errLater = errors.New("git has run often enough")

func (t *Tester) forget(w memories.Waiting) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.tried, attempt{w.ID, w.Since})
}

type site struct {
	*Tester
	root                *os.Root
	directory, identity string
	merges              int // branches that may still be tested
	// x is nil until a condition needs the index.
	x *index.Index
}

func (s *site) close() {
	if s.x != nil {
		_ = s.x.Close() // it was only read
	}
}

// `test` checks the condition of a note. If the condition holds, it returns the reason. If the note waits for a merge,
// it also returns the newest commit of the branch, which the host needs when it checks the note again. If the host
// cannot check the condition, `test` returns an error.
func (s *site) test(ctx context.Context, c chronicle.Condition, w memories.Waiting) (reason, seen string, err error) {
	switch c.Kind {
	case chronicle.ForFile, chronicle.ForNoFile:
		gone, err := test(s.root, chronicle.Check{Path: c.Path})
		switch {
		case err != nil:
		case gone == "" && c.Kind == chronicle.ForFile:
			reason = c.Path + " exists"
		case gone != "" && c.Kind == chronicle.ForNoFile:
			reason = gone
		}
		return reason, "", err
	case chronicle.ForDate:
		if !time.UnixMilli(s.Clock.Now()).Before(c.At(time.Local)) {
			reason = c.Date + " has come"
		}
		return reason, "", nil
	case chronicle.ForMerge:
		if !project.IsRepository(s.identity) {
			return "", "", errUnknown
		}
		if s.merges--; s.merges < 0 {
			return "", "", errLater
		}
		newest, isMerged, err := project.Merged(ctx, s.directory, c.Branch, c.Into, w.Seen)
		switch {
		case err != nil:
		case isMerged && w.Seen == "": // the branch may have no commit of its own yet
			newest = ""
		case isMerged:
			reason = c.Branch + " is merged"
		}
		return reason, newest, err
	}
	hasEnded, err := s.hasEnded(ctx, c, w.Since)
	if hasEnded {
		reason = fmt.Sprintf("%s has ended with exit status %d", c.CommandLine, c.Status)
	}
	return reason, "", err
}

func (s *site) hasEnded(ctx context.Context, c chronicle.Condition, since int64) (hasEnded bool, err error) {
	words := terms.Of(c.CommandLine)
	if len(words) == 0 {
		return false, errUnknown
	}
	if s.x == nil {
		if s.x, err = index.OpenReadOnly(ctx, s.IndexDir); err != nil {
			return false, err
		}
	}
	err = s.x.View(ctx, func(v *index.View) error {
		in := index.Scope{Filter: index.Filter{Kinds: []index.Kind{index.Command}, Since: since}}
		in.Project, err = v.Project(s.identity)
		if err != nil || in.Project == 0 {
			return err
		}
		return v.Find(`"`+strings.Join(words, `" AND "`)+`"`, in, maxRuns, func(h index.Hit) {
			isIt := h.Text == c.CommandLine || c.Status == 0 && strings.HasSuffix(h.Text, "&& "+c.CommandLine) // after cd, for example
			hasEnded = hasEnded || isIt && h.Status != nil && *h.Status == c.Status
		})
	})
	return hasEnded, err
}
