package dream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/agents/dreamer"
	"github.com/magicctx/magicctx-host/internal/agent"
	"github.com/magicctx/magicctx-host/internal/checks"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/work"
)

// A run is one use of the dreamer.
type run struct {
	*Dreamer
	client    client.Client
	session   store.SessionRow // the one in which the user has started it, or the newest of the directory
	cfg       schema.Config
	directory string
	project   string
	lease     agent.Lease
	most      time.Duration // how long it may take, or 0 if nothing but the tasks bounds it
	end       context.CancelCauseFunc
	progress  schema.DreamStatus // guarded by mu

	// number is the number under which the changes can be undone, or 0 if there are none yet. The other fields say what has
	// come of the run.
	number                                         int
	merged, into, updated, archived, improved, bad int
	problems                                       []string
	row                                            work.RunRow
}

// finishTimeout bounds the wait for the database at the end of a task. Nobody waits for the write, and the result has cost
// money.
const finishTimeout = 30 * time.Second

// carryOut does all tasks, records the run, and tells the user what has changed.
func (r *run) carryOut(ctx context.Context) {
	r.Background.Go(func() { r.lease.Keep(ctx, func() { r.end(work.ErrLeaseLost) }) })
	r.row = work.RunRow{StartedAt: r.Clock.Now()}
	err := r.doTasks(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		r.Log.Warn("the dreamer has stopped", "project", r.project, "error", err)
		r.problems = append(r.problems, format.Shorten(format.Clean(err.Error()), maxCause))
	}
	changed := r.into + r.updated + r.archived + r.improved
	r.row.Reason, r.row.Produced = r.report(), changed
	switch {
	case changed > 0:
		r.row.Status = work.Success
	case len(r.problems) == 0, errors.Is(err, context.Canceled), ask.Classify(err) == ask.OverBudget:
		r.row.Status = work.Noop
	default:
		r.row.Status = work.Failed
	}
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	if err := r.Store.Runs.Record(writing, r.lease.Work, r.row, 0); err != nil {
		r.Log.Warn("a run of the dreamer is not recorded", "project", r.project, "error", err)
	}
	if err := r.lease.Release(writing); err != nil {
		r.Log.Warn("the dreamer's lease is not released", "project", r.project, "error", err)
	}
	isQuiet := r.most > 0 && changed == 0 // nobody has asked for this run
	if isQuiet || r.Background.Lifetime().Err() != nil {
		return
	}
	variant := "success"
	if len(r.problems) > 0 {
		variant = "warning"
	}
	r.Notices.Show(r.client, r.session.Key, r.directory, variant, r.row.Reason)
}

// maxCause bounds the reason in a notice, in bytes.
const maxCause = 1 << 10

// doTasks does the tasks one after the other. If one fails, the next one follows, unless nothing can succeed any longer.
func (r *run) doTasks(ctx context.Context) error {
	known, err := r.Store.Memories.Of(ctx, r.project, r.Clock.Now())
	if err != nil {
		return err
	}
	if err := r.Checks.Test(ctx, r.directory, known.Memories); err != nil {
		r.Log.Info("memories are not checked", "directory", r.directory, "error", err)
	}
	tasks := r.tasks()
	for i, t := range tasks {
		r.mu.Lock()
		r.progress = schema.DreamStatus{Task: t.Name, Number: i + 1, Of: len(tasks), Since: r.row.StartedAt, Tokens: r.progress.Tokens}
		r.mu.Unlock()
		err := r.do(ctx, t)
		kind := ask.Classify(err)
		if ctx.Err() != nil || kind == ask.Aborted || kind == ask.OverBudget || errors.Is(err, work.ErrLeaseLost) {
			return err
		}
		if err != nil {
			r.Log.Warn("a task of the dreamer has failed", "project", r.project, "task", t.Name, "error", err)
			r.problems = append(r.problems, t.Name+" has failed: "+format.Shorten(format.Clean(err.Error()), maxCause))
		}
	}
	return nil
}

// job returns the memories as they are now, with what the files of the project say about them.
func (r *run) job(ctx context.Context) (dreamer.Job, error) {
	known, err := r.Store.Memories.Of(ctx, r.project, r.Clock.Now())
	if err != nil {
		return dreamer.Job{}, err
	}
	j := dreamer.Job{
		Findings: make(map[int64]dreamer.Finding), Now: r.Clock.Now(), Excess: -r.cfg.Memory.InjectionBudgetTokens,
		Models:  ask.Models(append([]string{r.cfg.Dreamer.Model}, r.cfg.Dreamer.FallbackModels...)...),
		Timeout: time.Duration(r.cfg.Dreamer.TaskTimeoutMinutes) * time.Minute,
	}
	if len(j.Models) == 0 {
		j.Models = []string{r.session.Provider + "/" + r.session.Model}
	}
	var paths []string
	for _, m := range known.Memories {
		j.Excess += tokens.Count(m.Content)
		if m.Project == r.project { // the other projects of a workspace only share theirs
			j.Memories, paths = append(j.Memories, m), append(paths, dreamer.Paths(m.Content)...)
		}
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
	return j, nil
}

// do does one task.
func (r *run) do(ctx context.Context, t dreamer.Task) error {
	job, err := r.job(ctx)
	if err != nil {
		return err
	}
	asker := agent.Asker{
		Runner: r.Agents, Harness: schema.Harness(r.session.Key.Harness), Client: r.client, Directory: r.directory, Session: r.session.Key.Session,
		Title: "dream: " + t.Title, Lease: r.lease,
	}
	result, err := t.Run(ctx, asker, job)
	used := result.Usage
	r.mu.Lock()
	r.progress.Tokens += used.Input + used.Output + used.CacheRead + used.CacheWrite
	r.mu.Unlock()
	r.row.Usage = work.Usage(ask.Usage(r.row.Usage).Plus(used))
	if err != nil {
		return err
	}
	if result.Model != "" {
		r.row.Model = result.Model
	}
	r.bad += len(result.Rejected)
	for _, why := range result.Rejected {
		r.Log.Info("the dreamer rejects a change", "project", r.project, "task", t.Name, "cause", why)
	}
	var changes []memories.Tended
	for _, ch := range result.Changes {
		c := memories.Tended{Content: ch.Content}
		if ch.Kind == dreamer.Archive {
			c = memories.Tended{Reason: ch.Content}
		}
		for _, m := range job.Memories {
			if slices.Contains(ch.IDs, m.ID) {
				c.Old = append(c.Old, m)
			}
		}
		changes = append(changes, c)
	}
	if len(changes) == 0 {
		return nil
	}
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	number, made, err := r.Store.Memories.Tend(writing, r.project, r.lease.Holder, r.number, changes)
	if err != nil {
		return err
	}
	for _, c := range made {
		r.number = number
		switch {
		case c.Content == "":
			r.archived += len(c.Old)
		case len(c.Old) > 1:
			r.merged, r.into = r.merged+len(c.Old), r.into+1
		case t.Name == dreamer.Improve:
			r.improved++
		default:
			r.updated++
		}
	}
	return nil
}

// report says what the run has done, and how to undo it.
func (r *run) report() string {
	var done []string
	if r.into > 0 {
		done = append(done, fmt.Sprintf("made %s out of %d", format.Count(r.into, "memory"), r.merged))
	}
	if r.updated > 0 {
		done = append(done, "corrected "+format.Count(r.updated, "memory"))
	}
	if r.archived > 0 {
		done = append(done, "archived "+format.Count(r.archived, "memory"))
	}
	if r.improved > 0 {
		done = append(done, "rewritten "+format.Count(r.improved, "memory"))
	}
	sentences := []string{"The dreamer has changed nothing."}
	if len(done) > 0 {
		sentences = []string{fmt.Sprintf("The dreamer has %s. magicctx-host memory restore --run %d --project %s undoes that.", strings.Join(done, ", "), r.number, program.Quote(r.directory))}
	}
	if r.bad > 0 {
		sentences = append(sentences, fmt.Sprintf("It has rejected %s that broke its rules.", format.Count(r.bad, "change")))
	}
	for _, p := range r.problems {
		sentences = append(sentences, strings.ToUpper(p[:1])+p[1:]+".")
	}
	return strings.Join(sentences, " ")
}
