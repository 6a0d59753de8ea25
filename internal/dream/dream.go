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
	"github.com/magicctx/magicctx-host/internal/checks"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/notice"
	"github.com/magicctx/magicctx-host/internal/projectdocs"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/work"
)

const Command = "ctx-dream"

// A Dreamer's methods are safe for concurrent use.
type Dreamer struct {
	Options
	// mu guards `running` and the progress of each run. `running` maps the identity of a project to its run.
	mu      sync.Mutex
	running map[string]*run
	docs    projectdocs.Reader
}

type Options struct {
	Store      *store.Store
	Sessions   *session.Sessions
	Clients    *client.Registry
	Agents     *agent.Runner
	Background *background.Work
	Checks     *checks.Tester
	Notices    *notice.Notices
	Publish    func(store.Key)
	// Stopped returns nil if the day's budget still pays for another call of this work. Otherwise, it says which budget
	// is used up.
	Stopped func(work.Work) *schema.BudgetStop
	Worst   func(ctx context.Context, cfg schema.Config, q ask.Request, steps int) work.Spent
	// If OnBattery is nil, the dreamer assumes mains power.
	OnBattery func(context.Context) bool
	Clock     clock.Clock
	Zone      *time.Location // of the schedules
	Log       *slog.Logger
}

func New(o Options) *Dreamer { return &Dreamer{Options: o, running: make(map[string]*run)} }

var errCancelled = fmt.Errorf("you have cancelled it: %w", context.Canceled)

func (d *Dreamer) Execute(ctx context.Context, c client.Client, key store.Key, p schema.CommandExecuteParams) (schema.CommandExecuteResult, error) {
	say := func(variant, text string) (schema.CommandExecuteResult, error) {
		return schema.CommandExecuteResult{Title: "magicctx", Variant: variant, Message: text}, nil
	}
	cfg := d.Clients.Config(key.Harness, p.Directory)
	if cfg.Dreamer.Disable {
		return say("warning", `The dreamer is switched off. A block "dreamer" in your magicctx.jsonc switches it on, from the next start of the harness.`)
	}
	session, err := d.session(ctx, key, p.Directory)
	if err != nil {
		return schema.CommandExecuteResult{}, err
	}
	project := session.Project
	r := d.run(c, session, cfg, p.Directory)
	r.account.IsManual = true
	switch argument := strings.TrimSpace(p.Arguments); {
	case argument == "cancel" && d.cancel(project):
		return say("info", "The run ends. What it has changed until now stays; its notice says how to undo that.")
	case argument == "cancel":
		earlier, err := d.past(ctx, project)
		if err != nil {
			return schema.CommandExecuteResult{}, err
		}
		if r.isGivenUp = earlier.isUnfinished; !r.isGivenUp {
			return say("info", "No run is under way.")
		}
	case argument != "" && argument != "--dry-run":
		return say("warning", "Write /ctx-dream, /ctx-dream --dry-run or /ctx-dream cancel.")
	case project == "":
		return say("warning", "The project of this session is not known yet, so it has no memories. Send a message first.")
	case argument == "--dry-run":
		text, err := r.forecast(ctx)
		if err != nil {
			return schema.CommandExecuteResult{}, err
		}
		return say("info", text)
	}
	if hasBegun, err := r.start(ctx); err != nil {
		return schema.CommandExecuteResult{}, err
	} else if !hasBegun {
		return say("warning", "The dreamer works on this project now. /ctx-dream cancel ends it.")
	}
	switch {
	case r.isGivenUp:
		return say("info", "The run that was interrupted does not go on. A notice tells what it has done.")
	case r.isResumed:
		return say("info", "The dreamer goes on with the run that was interrupted, in the background. A notice tells what it has done. /ctx-dream cancel ends it.")
	}
	return say("info", "The dreamer tends the memories of this project in the background. A notice tells what it has done. /ctx-dream cancel ends it.")
}

// start takes the project's lease and begins the run. If another run already works on the project, start returns false.
// If an earlier run was interrupted, start continues that run.
func (r *run) start(ctx context.Context) (hasBegun bool, err error) {
	r.lease = agent.Lease{Store: r.Store, Work: memories.DreamerOf(r.project), Holder: r.Agents.NewHolder()}
	if hasBegun, err = r.lease.Acquire(ctx); !hasBegun || err != nil {
		return false, err
	}
	if err := r.resume(ctx); err != nil {
		return false, errors.Join(err, r.lease.Release(ctx))
	}
	running, end := context.WithCancelCause(r.Background.Lifetime())
	if r.end = end; r.isGivenUp {
		end(errCancelled)
	}
	r.set(r.project, r)
	r.Agents.Go(func() {
		defer end(nil)
		defer r.Publish(r.session.Key)
		defer r.set(r.project, nil)
		if !r.account.IsManual {
			most := time.Duration(r.cfg.Dreamer.MaxRuntimeMinutes) * time.Minute
			defer time.AfterFunc(most, func() { end(errRuntime) }).Stop()
		}
		r.carryOut(running)
	})
	return true, nil
}

// If the project's last run was interrupted, resume continues with the account of that run: what it has already done
// and spent. resume stores the account at once, because this run may be interrupted, too.
func (r *run) resume(ctx context.Context) error {
	p, err := r.past(ctx, r.project)
	if err != nil {
		return err
	}
	if r.account.StartedAt = r.Clock.Now(); p.isUnfinished {
		p.account.IsManual = p.account.IsManual || r.account.IsManual
		r.account, r.isResumed = p.account, true
	}
	return r.save(ctx)
}

func (r *run) forecast(ctx context.Context) (string, error) {
	job, err := r.memories(ctx)
	if err != nil {
		return "", err
	}
	texts := []string{fmt.Sprintf("The project has %s. A run would do this:", format.Count(len(job.Memories), "memory"))}
	for _, t := range tasksOf(r.cfg) {
		parts, err := r.parts(ctx, t)
		if err != nil {
			return "", err
		}
		asked, worst := 0, work.Spent{}
		for _, p := range parts {
			if question, shown := t.Question(p.Job); len(shown) > 0 {
				one := r.Worst(ctx, r.cfg, question, agent.StepsOf(question.Agent))
				asked, worst = asked+len(shown), work.Spent{Money: worst.Money + one.Money, Tokens: worst.Tokens + one.Tokens}
			}
		}
		text := "nothing"
		if asked > 0 {
			noun, cost := "memory", format.Money(worst.Dollars())
			if t.Name == dreamer.MaintainDocs {
				noun = "line"
			}
			if worst.Money == 0 {
				cost = "an unknown price"
			}
			text = fmt.Sprintf("asks about %s, for at most %s tokens or %s", format.Count(asked, noun), format.Tokens(int(worst.Tokens)), cost)
		}
		texts = append(texts, fmt.Sprintf("%s (%s): %s.", t.Name, t.Title, text))
	}
	return strings.Join(texts, "\n"), nil
}

func tasksOf(cfg schema.Config) []dreamer.Task {
	return slices.DeleteFunc(slices.Clone(dreamer.Tasks), func(t dreamer.Task) bool { return !slices.Contains(cfg.Dreamer.Tasks, t.Name) })
}

func (d *Dreamer) Status(ctx context.Context, cfg schema.Config, project string) *schema.DreamStatus {
	if cfg.Dreamer.Disable {
		return nil
	}
	var s schema.DreamStatus
	d.mu.Lock()
	r := d.running[project]
	if r != nil {
		s = r.progress
	}
	d.mu.Unlock()
	s.Budget = d.Stopped(memories.DreamerOf(project))
	if r == nil {
		if err := d.rest(ctx, cfg, project, &s); err != nil {
			d.Log.Warn("the dreamer's status is not read", "project", project, "error", err)
		}
	}
	if s == (schema.DreamStatus{}) {
		return nil
	}
	return &s
}

func (d *Dreamer) rest(ctx context.Context, cfg schema.Config, project string, s *schema.DreamStatus) error {
	p, err := d.past(ctx, project)
	if err != nil {
		return err
	}
	if p.isUnfinished {
		tasks := tasksOf(cfg)
		t, number, _ := p.account.next(tasks)
		*s = schema.DreamStatus{Task: t.Name, Number: number, Of: len(tasks), Since: p.account.StartedAt, Tokens: tokensOf(p.account.Usage), Waits: true, Budget: s.Budget}
	} else if until := d.brokenUntil(p.runs); until > d.Clock.Now() {
		s.Failures, s.Failure, s.Until = len(p.runs), p.runs[0].Reason, until
	}
	return nil
}

// session returns the row of a session. If the project of the session cannot be found, the row has none.
func (d *Dreamer) session(ctx context.Context, key store.Key, directory string) (store.SessionRow, error) {
	d.Sessions.FindProject(ctx, directory)
	s, err := d.Sessions.Lock(ctx, key)
	if err != nil {
		return store.SessionRow{}, err
	}
	defer s.Unlock()
	if !s.Known {
		if _, err := d.Sessions.Load(ctx, s); err != nil {
			return store.SessionRow{}, err
		}
	}
	row := s.Row
	row.Key = key
	return row, nil
}

// The method `set` records that r is the running run of a project. If r is nil, the project's run has ended.
func (d *Dreamer) set(project string, r *run) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r == nil {
		delete(d.running, project)
		return
	}
	d.running[project] = r
}

func (d *Dreamer) cancel(project string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.running[project]
	if r != nil {
		r.end(errCancelled)
	}
	return r != nil
}
