package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencode2"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/script"
	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/schema"
)

// A variant is one way to handle a limited window, for example OpenCode's own compaction.
type variant struct {
	name string
	// plugin switches magicctx on. historian switches magicctx's historian on, and compaction OpenCode's own
	// compaction.
	plugin, historian, compaction bool
	// unbounded removes the limit of the window.
	unbounded bool
}

var (
	withCompaction   = variant{name: "OpenCode", compaction: true}
	withMagicctx     = variant{name: "magicctx", plugin: true, historian: true}
	withoutHistorian = variant{name: "without historian", plugin: true}
	// unbounded shows the costs of the session if every message is always sent.
	unbounded = variant{name: "unbounded", unbounded: true}

	variants = []variant{withCompaction, withMagicctx, withoutHistorian, unbounded}
)

// settings returns the settings of magicctx. Its historian uses the session's model.
func (r run) settings() string {
	return fmt.Sprintf(`{"historian": {"disable": %t}, "spending": %q}`, !r.historian, r.spending)
}

// A run tells a story to one variant of OpenCode.
type run struct {
	variant
	scene  scene
	billed billed
	// spending is magicctx's setting of the dial.
	spending schema.Spending
	product  stage.Product
	// harness is OpenCode of version 1 or 2. source is the directory with the source of version 2.
	harness schema.Harness
	source  string
	root    string // the directory for the run's files, with a short path (see opencodetest.NewHome)
	// traces is the directory in which magicctx records the connection for `magicctx-host replay`. If
	// it is empty, nothing is recorded.
	traces string
	// probes lets the user come back to the needles after the last turn.
	probes bool
	// progress is called after each turn.
	progress func(turn int, t tally)
}

// A result is the outcome of a run.
type result struct {
	Name     string
	variant  variant
	Duration time.Duration
	// recalls count the needles after some of the turns.
	recalls []recall
	Turns   int // the number of turns in the story
	tally
	// lines are the lines that magicctx has delivered, and lineShare is their part of the bill. Both include the user's
	// questions about the needles.
	lines     int
	isProbed  bool
	lineShare float64
	// causes are the causes of magicctx's busts, as counted in its journal.
	causes []schema.CauseCount
	// removals are the tokens that magicctx has removed, and the tokens that the model read again.
	removals []schema.Removal
	// excess is the money that magicctx would have saved with the best bust times. best are these times, as
	// numbers of requests of the main conversation.
	excess float64
	best   []int
}

// play tells the story from the first turn to the last. If a turn ends because the prompt is too long, play counts it
// and goes on. Any other failure ends the run.
func (r run) play(ctx context.Context) (res result, err error) {
	s := r.scene.story(filepath.Join(r.root, "project"))
	s.tools = script.OpenCode
	if r.harness == schema.HarnessOpenCode2 {
		s.tools = script.OpenCode2
	}
	if err := opencodetest.NewProject(ctx, s.project, s.files()); err != nil {
		return res, err
	}
	user, err := stage.NewUser(r.root, r.product)
	if err != nil {
		return res, err
	}
	if r.unbounded {
		r.scene.limits.Context = 10_000_000
	}
	p := newProvider(r.billed, s, r.scene.limits.Context)
	p.isVersion2 = r.harness == schema.HarnessOpenCode2
	if r.historian {
		p.settled = func(ctx context.Context) { untilSettled(ctx, user) }
	}
	mock := mockllm.Start()
	defer mock.Close()
	mock.AddRule(mockllm.Rule{Name: "title", Match: isTitle, Answer: mockllm.Always(step(s.title()))})
	mock.AddRule(p.rule())
	if r.billed.binds {
		// OpenCode asks the provider to drop invalid thinking. If the provider refused the request instead, the session
		// would end.
		mock.Bind(mockllm.BindingDrop, modelID(r.billed.model), modelID(r.billed.other))
	}

	start := time.Now()
	oc, err := r.start(ctx, user, s.project, mock.URL())
	if err != nil {
		return res, err
	}
	session, recalls, err := r.tell(ctx, oc, p, s, user)
	res = result{Name: r.name, variant: r.variant, recalls: recalls, Turns: s.turns, Duration: time.Since(start), tally: p.counted()}
	if err == nil && r.probes && r.plugin {
		res.isProbed = true
		err = r.probe(ctx, oc, p, s, user, session, &recalls[len(recalls)-1])
	}
	all := p.counted()
	res.lines, res.lineShare = all.delivered.Lines, promptcache.Bill(all.delivered.Tokens, all.prices)/max(1e-9, all.fullBill())
	if err == nil && r.plugin {
		res.excess, res.best = p.excess()
		res.causes, res.removals, err = r.causes(ctx, user, res.tally)
	}
	return res, errors.Join(err, oc.End(), user.StopHost(context.WithoutCancel(ctx)))
}

// causes returns the causes of busts in magicctx's journal, and the tokens that the busts have removed. It returns an
// error if some requests had no pass. Those requests went out without magicctx, so the figures would be wrong.
func (r run) causes(ctx context.Context, user *stage.User, t tally) ([]schema.CauseCount, []schema.Removal, error) {
	status, err := user.Status(ctx)
	if err != nil {
		return nil, nil, err
	}
	if n := len(status.Sessions); n != 1 {
		return nil, nil, fmt.Errorf("magicctx knows %d sessions, want 1", n)
	}
	s := status.Sessions[0]
	if want := t.Requests - len(t.Runs) + t.Overflows; s.Passes < want {
		return nil, nil, fmt.Errorf("magicctx had %d passes for %d requests", s.Passes, want)
	}
	return s.BustCauses, s.Removals, nil
}

// tell plays the user's part, and counts the needles on the way.
func (r run) tell(ctx context.Context, oc agent.Agent, p *provider, s story, user *stage.User) (session string, recalls []recall, err error) {
	session, err = oc.Begin(ctx)
	if err != nil {
		return "", nil, err
	}
	for turn := 1; turn <= s.turns; turn++ {
		if slices.Contains(r.scene.pauses, turn) {
			if err := r.pause(p); err != nil {
				return "", nil, fmt.Errorf("pause before turn %d: %w", turn, err)
			}
		}
		err := oc.Send(ctx, session, opencodetest.Prompt{Text: s.prompt(turn), Model: r.model(turn)})
		if err != nil && !isOverflow(err) {
			return "", nil, fmt.Errorf("turn %d: %w", turn, err)
		}
		if isCheck(turn, s.turns) {
			reader := ""
			if r.historian {
				if reader, err = expanded(ctx, user, session); err != nil {
					return "", nil, fmt.Errorf("turn %d: %w", turn, err)
				}
			}
			recalls = append(recalls, recallOf(turn, p.window(turn), reader))
		}
		if r.progress != nil {
			r.progress(turn, p.counted())
		}
	}
	// A failed call is a mistake in the story, and would make its prompts shorter than intended.
	failed, err := oc.FailedCalls(ctx, session)
	if err == nil && len(failed) > 0 {
		err = errors.New(failed[0])
	}
	return session, recalls, err
}

// model returns the model that answers a turn.
func (r run) model(turn int) string {
	if r.scene.switchAt > 0 && turn >= r.scene.switchAt {
		return r.billed.other
	}
	return r.billed.model
}

// pause lets the user wait for longer than the provider keeps the prompt. It moves the provider's clock and
// the host's.
func (r run) pause(p *provider) error {
	p.pause(2 * r.billed.route.Life)
	next := r.clock() + ".next" // a rename, so that the host never reads a half-written number
	if err := os.WriteFile(next, strconv.AppendInt(nil, p.now, 10), 0o600); err != nil {
		return err
	}
	return os.Rename(next, r.clock())
}

// clock returns the path of the file that holds how far the host's clock is ahead of the machine's.
func (r run) clock() string { return filepath.Join(r.root, "clock") }

// isOverflow reports whether a turn ended because the prompt was too long. Version 2 does not name that error, but
// passes on the provider's text.
func isOverflow(err error) bool {
	return strings.Contains(err.Error(), "ContextOverflowError") || strings.Contains(err.Error(), "prompt is too long")
}

func (r run) start(ctx context.Context, user *stage.User, project, mockURL string) (agent.Agent, error) {
	options, err := r.options(user, project, mockURL)
	if err != nil {
		return nil, err
	}
	if r.harness == schema.HarnessOpenCode2 {
		return agent.StartOpenCode2(ctx, opencode2.Options{Options: options, Source: r.source, Compacts: r.compaction})
	}
	oc, err := opencodetest.Start(ctx, options)
	return &agent.OpenCode{OpenCode: oc}, err
}

func (r run) options(user *stage.User, project, mockURL string) (opencodetest.Options, error) {
	options := user.Bare(project, mockURL)
	if r.plugin {
		options = user.WithPlugin(r.product.Host, project, mockURL)
		if err := user.Configure(r.settings()); err != nil {
			return options, err
		}
		options.Env = append(options.Env, "MAGICCTX_TEST_CLOCK="+r.clock())
		if r.traces != "" {
			options.Env = append(options.Env, "MAGICCTX_TRACE="+r.traces)
		}
	}
	options.Limits, options.ReadPrice = r.scene.limits, r.billed.prices.Read
	if r.billed.config != nil {
		maps.Copy(options.Config, r.billed.config(mockURL, r.scene.limits, r.billed.prices))
	}
	options.Config["model"] = r.billed.model
	if r.compaction {
		delete(options.Config, "compaction") // without this key, OpenCode uses its defaults
	}
	return options, nil
}

// untilSettled waits until no run of the historian is under way. Otherwise the speed of the machine would
// decide which pass is the first to show a new compartment.
func untilSettled(ctx context.Context, user *stage.User) {
	for ctx.Err() == nil {
		status, err := user.Status(ctx)
		if err != nil || status.HistorianRuns == 0 {
			return // without a host, there are no runs
		}
		time.Sleep(5 * time.Millisecond)
	}
}
