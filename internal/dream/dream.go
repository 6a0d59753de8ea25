package dream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/agents/dreamer"
	"github.com/magicctx/magicctx-host/internal/agent"
	"github.com/magicctx/magicctx-host/internal/background"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/notice"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/work"
)

// Command starts a run, or ends the one under way.
const Command = "ctx-dream"

// A Dreamer tends the memories of projects. Its methods are safe for concurrent use.
type Dreamer struct {
	Options
	// mu guards running: what ends the run of each project, by identity.
	mu      sync.Mutex
	running map[string]context.CancelCauseFunc
}

// Options configure a Dreamer.
type Options struct {
	Store      *store.Store
	Sessions   *session.Sessions
	Clients    *client.Registry
	Agents     *agent.Runner
	Background *background.Work
	Notices    *notice.Notices
	Clock      clock.Clock
	Log        *slog.Logger
}

// New returns a dreamer that does nothing yet.
func New(o Options) *Dreamer {
	return &Dreamer{Options: o, running: make(map[string]context.CancelCauseFunc)}
}

// errCancelled ends a run of which the user has had enough.
var errCancelled = fmt.Errorf("you have cancelled it: %w", context.Canceled)

// Execute answers the command.
func (d *Dreamer) Execute(ctx context.Context, c client.Client, key store.Key, p schema.CommandExecuteParams) (schema.CommandExecuteResult, error) {
	say := func(variant, text string) (schema.CommandExecuteResult, error) {
		return schema.CommandExecuteResult{Title: "magicctx", Variant: variant, Message: text}, nil
	}
	cfg := d.Clients.Config(key.Harness, p.Directory)
	if cfg.Dreamer.Disable {
		return say("warning", `The dreamer is switched off. A block "dreamer" in your magicctx.jsonc switches it on.`)
	}
	project, err := d.projectOf(ctx, key, p.Directory)
	if err != nil {
		return schema.CommandExecuteResult{}, err
	}
	switch argument := strings.TrimSpace(p.Arguments); {
	case argument == "cancel" && d.cancel(project):
		return say("info", "The run ends. It has changed nothing.")
	case argument == "cancel":
		return say("info", "No run is under way.")
	case argument != "":
		return say("warning", "Write /ctx-dream, or /ctx-dream cancel.")
	case project == "":
		return say("warning", "The project of this session is not known yet, so it has no memories. Send a message first.")
	}
	r := &run{d, c, key, cfg, p.Directory, project, agent.Lease{Store: d.Store, Work: memories.DreamerOf(project), Holder: d.Agents.NewHolder()}}
	if acquired, err := r.lease.Acquire(ctx); err != nil || !acquired {
		if err != nil {
			return schema.CommandExecuteResult{}, err
		}
		return say("warning", "The dreamer works on this project now. /ctx-dream cancel ends it.")
	}
	running, end := context.WithCancelCause(d.Background.Lifetime())
	d.set(project, end)
	d.Agents.Go(func() {
		defer end(nil)
		defer d.set(project, nil)
		r.carryOut(running, end)
	})
	return say("info", "The dreamer looks for memories that say the same, in the background. A notice tells what it has done. /ctx-dream cancel ends it.")
}

// projectOf returns the identity of a session's project, or "".
func (d *Dreamer) projectOf(ctx context.Context, key store.Key, directory string) (string, error) {
	d.Sessions.FindProject(ctx, directory)
	s, err := d.Sessions.Lock(ctx, key)
	if err != nil {
		return "", err
	}
	defer s.Unlock()
	if !s.Known {
		if _, err := d.Sessions.Load(ctx, s); err != nil {
			return "", err
		}
	}
	return s.Row.Project, nil
}

// set remembers what ends the run of a project. If end is nil, the run has ended.
func (d *Dreamer) set(project string, end context.CancelCauseFunc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if end == nil {
		delete(d.running, project)
		return
	}
	d.running[project] = end
}

func (d *Dreamer) cancel(project string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	end := d.running[project]
	if end != nil {
		end(errCancelled)
	}
	return end != nil
}

// A run is one use of the dreamer.
type run struct {
	*Dreamer
	client    client.Client
	key       store.Key // of the session in which the user has started it
	cfg       schema.Config
	directory string
	project   string
	lease     agent.Lease
}

// finishTimeout bounds the wait for the database at the end of a run. Nobody waits for the write, and the result has cost
// money.
const finishTimeout = 30 * time.Second

// carryOut asks a model, applies the merges, and tells the user what has changed.
func (r *run) carryOut(ctx context.Context, end context.CancelCauseFunc) {
	r.Background.Go(func() { r.lease.Keep(ctx, func() { end(work.ErrLeaseLost) }) })
	row := work.RunRow{StartedAt: r.Clock.Now(), Reason: "consolidate"}
	text, err := r.consolidate(ctx, &row)
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		r.Log.Warn("the dreamer has stopped", "project", r.project, "error", err)
		row.Status, row.Reason = work.Failed, format.Clean(err.Error())
		if errors.Is(err, context.Canceled) || ask.Classify(err) == ask.OverBudget {
			row.Status = work.Noop
		}
		if err := r.Store.Runs.Record(writing, r.lease.Work, row, 0); err != nil {
			r.Log.Warn("a run of the dreamer is not recorded", "project", r.project, "error", err)
		}
	}
	if err := r.lease.Release(writing); err != nil {
		r.Log.Warn("the dreamer's lease is not released", "project", r.project, "error", err)
	}
	switch {
	case r.Background.Lifetime().Err() != nil, errors.Is(err, errCancelled): // the host is stopping, or the user knows
	case err != nil:
		r.Notices.Show(r.client, r.key, r.directory, "warning", "The dreamer has changed nothing: "+format.Shorten(format.Clean(err.Error()), maxCause))
	default:
		r.Notices.Show(r.client, r.key, r.directory, "success", text)
	}
}

// maxCause bounds the reason in a notice, in bytes.
const maxCause = 1 << 10

// consolidate merges memories, and describes that in a sentence.
func (r *run) consolidate(ctx context.Context, row *work.RunRow) (string, error) {
	known, err := r.Store.Memories.Of(ctx, r.project, r.Clock.Now())
	if err != nil {
		return "", err
	}
	known.Memories = slices.DeleteFunc(known.Memories, func(m chronicle.Memory) bool { return m.Project != r.project }) // others share theirs
	asker := agent.Asker{
		Runner: r.Agents, Harness: schema.Harness(r.key.Harness), Client: r.client, Directory: r.directory,
		Title: "dream of " + format.Count(len(known.Memories), "memory"), Lease: r.lease,
	}
	result, err := dreamer.Consolidate(ctx, asker, dreamer.Job{
		Memories: known.Memories, Models: append([]string{r.cfg.Dreamer.Model}, r.cfg.Dreamer.FallbackModels...),
		Timeout: time.Duration(r.cfg.Dreamer.TaskTimeoutMinutes) * time.Minute,
	})
	row.Model, row.Usage = result.Model, work.Usage(result.Usage)
	if err != nil {
		return "", err
	}
	for _, why := range result.Rejected {
		r.Log.Info("a merge of memories is rejected", "project", r.project, "cause", why)
	}
	var merges []memories.Merge
	for _, m := range result.Merges {
		merge := memories.Merge{Content: m.Content}
		for _, of := range known.Memories {
			if slices.Contains(m.IDs, of.ID) {
				merge.Old = append(merge.Old, of)
			}
		}
		merges = append(merges, merge)
	}
	number, old, merged, err := r.Store.Memories.Consolidate(ctx, r.project, r.lease.Holder, merges, *row)
	if err != nil {
		return "", err
	}
	if len(merged) == 0 {
		text := "The dreamer has found no memories that say the same."
		if n := len(result.Rejected); n > 0 {
			text = fmt.Sprintf("The dreamer has changed nothing: %s would have lost something.", format.Count(n, "merge"))
		}
		return text, nil
	}
	return fmt.Sprintf("The dreamer has made %s out of %d. magicctx-host memory restore --run %d --project %s undoes that.",
		format.Count(len(merged), "memory"), len(old), number, r.directory), nil
}
