package checks

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/internal/background"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/internal/project"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/store"
)

const (
	// A test begins this long after a pass. Directly after the pass, the harness needs the processor.
	after = 2 * time.Second
	// Two tests in one directory are at least this long apart.
	apart    = 5 * time.Minute
	maxTests = 200
)

type Tester struct {
	Options
	mu sync.Mutex
	// `tested` maps each directory to the last time, in Unix ms, at which a test of its memories was scheduled.
	tested map[string]int64
	// `running` holds the directories whose waiting notes are being tested now. `tried` maps each waiting note to the
	// time of its last test, in Unix ms.
	running map[string]bool
	tried   map[attempt]int64
}

type Options struct {
	Store      *store.Store
	Guard      *store.Guard
	Background *background.Work
	Clock      clock.Clock
	// IndexDir is the directory of the index, from which a test reads the exit status of commands. If IndexDir is "",
	// notes are not tested.
	IndexDir string
	Log      *slog.Logger
	// After is how long a test waits after a pass. 0 means two seconds.
	After time.Duration
}

func New(o Options) *Tester {
	if o.After == 0 {
		o.After = after
	}
	return &Tester{Options: o, tested: map[string]int64{}, running: map[string]bool{}, tried: map[attempt]int64{}}
}

func (t *Tester) Feature() pass.Feature {
	return pass.Feature{Done: func(_ context.Context, ps *pass.Pass) {
		t.note(ps.Session)
		t.noteWaiting(ps.Session)
	}}
}

func (t *Tester) note(s *session.Session) {
	directory, now := s.Row.Directory, t.Clock.Now()
	var all []chronicle.Memory
	for _, m := range s.Chronicle.Memories.Memories {
		if m.Check != "" && m.Project == s.Row.Project && len(all) < maxTests {
			all = append(all, m)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, isTested := t.tested[directory]; len(all) == 0 || isTested && now-last < apart.Milliseconds() {
		return
	}
	t.tested[directory] = now
	t.Background.Go(func() {
		ctx := t.Background.Lifetime()
		select {
		case <-ctx.Done():
			return
		case <-time.After(t.After):
		}
		if err := t.Test(ctx, directory, all); err != nil && ctx.Err() == nil {
			t.Log.Info("memories are not checked", "directory", directory, "error", err)
		}
	})
}

// Test runs the checks of memories in the repository of a directory. If the result of a check has changed, Test stores
// the new reason to doubt the memory, or "" if the check passes again.
func (t *Tester) Test(ctx context.Context, directory string, all []chronicle.Memory) error {
	root, err := os.OpenRoot(project.Root(directory))
	if err != nil {
		return err
	}
	defer root.Close()
	changed := map[chronicle.Memory]string{}
	for _, m := range all {
		c, err := chronicle.ParseCheck(m.Check)
		if err != nil || ctx.Err() != nil {
			continue
		}
		reason, err := test(root, c)
		if err != nil { // for example because the path leads through a link
			reason = c.Path + " cannot be checked"
		}
		if reason != m.Doubt {
			changed[m] = reason
		}
	}
	if len(changed) == 0 {
		return ctx.Err()
	}
	writing, cancel := t.Guard.Writing(ctx)
	defer cancel()
	err = t.Store.Memories.Doubt(writing, changed, t.Clock.Now())
	t.Guard.Wrote(err)
	return err
}
