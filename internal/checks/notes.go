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
	// maxNotes bounds the notes of one test. At most 200 notes of a project wait, or more if two projects were joined.
	maxNotes = 400
	// maxMerges bounds the branches of one test, because each costs several runs of git.
	maxMerges = 20
	// maxRuns bounds the commands of the index that are compared with a condition's command.
	maxRuns = 200
)

// noteWaiting starts a test of the notes of the session's project that wait for a condition. A new note is tested soon,
// because a branch counts as merged only if an earlier test has seen a commit of it. A replay has no index. It tests
// nothing, because today's files say nothing about the recorded session.
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

// begin marks the notes of a directory as being tested. It returns false if another test of them is running.
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

// TestNotes tests the conditions of a project's notes in one of the project's directories, and stores which conditions
// hold. It leaves out a note that was tested in the last minutes.
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

// An attempt is a test of a note. since is the time of the note's newest change, so a changed note counts as not tested
// yet.
type attempt struct{ note, since int64 }

// due returns the notes that were not tested in the last minutes, and marks them as tested.
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

// errLater means that a test has used up its runs of git. The next test begins with the note, because the notes before
// it were tested a moment ago. Otherwise, the oldest notes would keep the others from being tested.
var errLater = errors.New("git has run often enough")

// forget takes back that a note was tested.
func (t *Tester) forget(w memories.Waiting) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.tried, attempt{w.ID, w.Since})
}

// A site is the place in which conditions are tested.
type site struct {
	*Tester
	root                *os.Root
	directory, identity string
	merges              int // branches that may still be tested
	// x is the index, if a condition has needed it.
	x *index.Index
}

func (s *site) close() {
	if s.x != nil {
		_ = s.x.Close() // it was only read
	}
}

// test returns the reason why a condition holds, or "". seen is what the next test must know: the newest commit of a
// branch. test fails if the condition cannot be tested.
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

// hasEnded reports whether a session of the project has run the condition's command since a time, and the command ended
// with the condition's status.
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
