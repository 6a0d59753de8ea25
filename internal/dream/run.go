package dream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/agents/dreamer"
	"github.com/magicctx/magicctx-host/internal/agent"
	"github.com/magicctx/magicctx-host/internal/checks"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/work"
)

type run struct {
	*Dreamer
	client    client.Client
	session   store.SessionRow // the session in which the user has started the run, or the newest session of the directory
	cfg       schema.Config
	directory string
	project   string
	lease     agent.Lease
	end       context.CancelCauseFunc
	progress  schema.DreamStatus // guarded by mu
	account   account            // after the run has begun, only the run's own goroutine uses it
	isResumed bool               // an earlier host has begun the run
	isGivenUp bool               // the run only reports what it has done so far
}

// finishTimeout is long, because nobody waits for the write at the end of a task, and the result has cost money.
const finishTimeout = 30 * time.Second

// carryOut does the remaining tasks, records the run, and tells the user what has changed. If the host or harness
// ends, or the lease is lost, the run stays unfinished. StartDue continues it later.
func (r *run) carryOut(ctx context.Context) {
	r.Background.Go(func() { r.lease.Keep(ctx, func() { r.end(work.ErrLeaseLost) }) })
	err := r.doTasks(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	defer func() {
		if err := r.lease.Release(writing); err != nil {
			r.Log.Warn("the dreamer's lease is not released", "project", r.project, "error", err)
		}
	}()
	if err != nil {
		r.Log.Warn("the dreamer has stopped", "project", r.project, "error", err)
	}
	isCancelled := errors.Is(err, errCancelled)
	if isLost := errors.Is(err, work.ErrLeaseLost); isLost || ask.Classify(err) == ask.Aborted && !isCancelled {
		return
	}
	row := work.RunRow{StartedAt: r.account.StartedAt, Model: r.account.Model, Usage: work.Usage(r.account.Usage), Produced: r.account.changed()}
	row.Status = work.Noop
	retry := int64(0)
	switch {
	case !isCancelled && (err != nil || len(r.account.Problems) > 0):
		row.Status, retry = work.Failed, r.retry(err)
	case row.Produced > 0:
		row.Status = work.Success
	}
	if err != nil {
		r.account.Problems = append(r.account.Problems, format.Shorten(format.Clean(err.Error()), maxCause))
	}
	row.Reason = r.account.report(r.directory)
	if err := r.Store.Runs.Record(writing, r.lease.Work, row, retry); err != nil {
		r.Log.Warn("a run of the dreamer is not recorded", "project", r.project, "error", err)
	}
	if !r.account.IsManual && row.Produced+r.account.Proposed == 0 { // nobody has asked for this run
		return
	}
	variant := "success"
	if len(r.account.Problems) > 0 {
		variant = "warning"
	}
	r.Notices.Show(r.client, r.session.Key, r.directory, variant, row.Reason)
}

func (r *run) save(ctx context.Context) error {
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	return r.Store.Memories.Tend(writing, r.project, r.lease.Holder, 0, nil, func(int, []memories.Tended) string { return r.account.text() })
}

const maxCause = 1 << 10

// errNoHarness interrupts a run until a harness opens the directory again.
var errNoHarness = &ask.Error{Kind: ask.Aborted, Err: errors.New("no harness has the directory open")}

// An interrupted task begins at most maxTries times, because it may crash the host each time.
const maxTries = 3

// If a task fails, doTasks continues with the next task. If the budget is used up, every further task would fail, too,
// so doTasks stops.
func (r *run) doTasks(ctx context.Context) error {
	known, err := r.Store.Memories.Of(ctx, r.project, r.Clock.Now())
	if err != nil {
		return err
	}
	if err := r.Checks.Test(ctx, r.directory, known.Memories); err != nil {
		r.Log.Info("memories are not checked", "directory", r.directory, "error", err)
	}
	for tasks := tasksOf(r.cfg); ; {
		t, number, found := r.account.next(tasks)
		switch {
		case !found:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case len(r.Clients.WithOpen(schema.Harness(r.session.Key.Harness), r.directory, r.client)) == 0:
			return errNoHarness
		}
		r.account.Tries++
		if err := r.save(ctx); err != nil {
			return err
		}
		r.show(t, number, len(tasks))
		err := fmt.Errorf("it was interrupted %d times", maxTries)
		if r.account.Tries <= maxTries {
			err = r.do(ctx, t)
		}
		switch kind := ask.Classify(err); {
		case err == nil:
		case ctx.Err() != nil || kind == ask.Aborted || kind == ask.OverBudget || errors.Is(err, work.ErrLeaseLost):
			return err
		default:
			r.Log.Warn("a task of the dreamer has failed", "project", r.project, "task", t.Name, "error", err)
			r.account = r.account.after(t.Name, 0, nil)
			r.account.Problems = append(r.account.Problems, t.Name+" has failed: "+format.Shorten(format.Clean(err.Error()), maxCause))
		}
	}
}

func (r *run) show(t dreamer.Task, number, of int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.Publish(r.session.Key)
	r.progress = schema.DreamStatus{Task: t.Name, Number: number, Of: of, Since: r.account.StartedAt, Tokens: tokensOf(r.account.Usage)}
}

func tokensOf(u ask.Usage) int { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

type part struct {
	dreamer.Job
	name, text string // of the document
}

func (r *run) parts(ctx context.Context, t dreamer.Task) ([]part, error) {
	if t.Name == dreamer.MaintainDocs {
		return r.documents(ctx)
	}
	j, err := r.memories(ctx)
	return []part{{Job: j}}, err
}

func (r *run) memories(ctx context.Context) (dreamer.Job, error) {
	j := r.job()
	known, err := r.Store.Memories.Of(ctx, r.project, j.Now)
	if err != nil {
		return j, err
	}
	for _, m := range known.Memories {
		j.Excess += tokens.Count(m.Content)
		if m.Project == r.project { // the other projects of a workspace only share their memories
			j.Memories = append(j.Memories, m)
		}
	}
	r.find(&j)
	return j, nil
}

func (r *run) job() dreamer.Job {
	j := dreamer.Job{
		Findings: make(map[int64]dreamer.Finding), Now: r.Clock.Now(), Excess: -r.cfg.Memory.InjectionBudgetTokens,
		Models:  ask.Models(append([]string{r.cfg.Dreamer.Model}, r.cfg.Dreamer.FallbackModels...)...),
		Timeout: time.Duration(r.cfg.Dreamer.TaskTimeoutMinutes) * time.Minute,
	}
	if len(j.Models) == 0 {
		j.Models = []string{r.session.Provider + "/" + r.session.Model}
	}
	return j
}

func (r *run) find(j *dreamer.Job) {
	var paths []string
	for _, m := range j.Memories {
		paths = append(paths, dreamer.Paths(m.Content)...)
	}
	gone, err := checks.Gone(r.directory, paths)
	if err != nil {
		r.Log.Info("the files of memories are not looked at", "directory", r.directory, "error", err)
	}
	for _, m := range j.Memories {
		var f dreamer.Finding
		for _, path := range dreamer.Paths(m.Content) {
			if found, isGone := gone[path]; isGone {
				f.Gone, f.Found = append(f.Gone, path), append(f.Found, found...)
			}
		}
		j.Findings[m.ID] = f
	}
}

func (r *run) do(ctx context.Context, t dreamer.Task) error {
	parts, err := r.parts(ctx, t)
	if err != nil {
		return err
	}
	asker := agent.Asker{
		Runner: r.Agents, Harness: schema.Harness(r.session.Key.Harness), Client: r.client, Directory: r.directory, Session: r.session.Key.Session,
		Title: "dream: " + t.Title, Lease: r.lease,
	}
	next, diff := r.account, ""
	var changes []memories.Tended
	for _, p := range parts {
		result, err := t.Run(ctx, asker, p.Job)
		r.account.Usage = r.account.Usage.Plus(result.Usage)
		if err != nil {
			return err
		}
		next.Model = cmp.Or(result.Model, next.Model)
		next.Rejected += len(result.Rejected)
		for _, why := range result.Rejected {
			r.Log.Info("the dreamer rejects a change", "project", r.project, "task", t.Name, "cause", why)
		}
		if p.name == "" {
			changes = append(changes, tended(p.Memories, result.Changes)...)
			continue
		}
		next.Proposed += len(result.Changes)
		diff += format.Diff("a/"+p.name, "b/"+p.name, p.text, dreamer.Revise(p.text, result.Changes), false)
	}
	if t.Name == dreamer.MaintainDocs {
		if next.Patch, err = r.propose(diff); err != nil {
			return err
		}
	}
	next.Usage = r.account.Usage
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	err = r.Store.Memories.Tend(writing, r.project, r.lease.Holder, next.Number, changes, func(number int, made []memories.Tended) string {
		next = next.after(t.Name, number, made)
		return next.text()
	})
	if err == nil {
		r.account = next
	}
	return err
}

func tended(known []chronicle.Memory, all []dreamer.Change) (changes []memories.Tended) {
	for _, ch := range all {
		c := memories.Tended{Content: ch.Content, More: ch.More}
		if ch.Kind == dreamer.Archive {
			c = memories.Tended{Reason: ch.Content}
		}
		for _, m := range known {
			if slices.Contains(ch.IDs, m.ID) {
				c.Old = append(c.Old, m)
			}
		}
		changes = append(changes, c)
	}
	return changes
}
