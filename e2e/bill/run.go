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

type variant struct {
	name                          string
	plugin, historian, compaction bool
	unbounded                     bool
}

var (
	withCompaction   = variant{name: "OpenCode", compaction: true}
	withMagicctx     = variant{name: "magicctx", plugin: true, historian: true}
	withoutHistorian = variant{name: "without historian", plugin: true}
	// unbounded sends all messages with each request, in a window that is never full.
	unbounded = variant{name: "unbounded", unbounded: true}

	variants = []variant{withCompaction, withMagicctx, withoutHistorian, unbounded}
)

func (r run) settings() string {
	return fmt.Sprintf(`{"historian": {"disable": %t}, "spending": %q}`, !r.historian, r.spending)
}

type run struct {
	variant
	scene    scene
	billed   billed
	spending schema.Spending
	product  stage.Product
	// `harness` is OpenCode 1 or 2. `source` is the directory with the source of OpenCode 2.
	harness schema.Harness
	source  string
	root    string // the directory for the run's files, with a short path (see opencodetest.NewHome)
	// If `traces` is not empty, magicctx records a trace for `magicctx-host replay` in this directory.
	traces string
	// If `probes` is true, the user asks about the needles after the last turn.
	probes   bool
	progress func(turn int, t tally)
}

type result struct {
	Name     string
	variant  variant
	Duration time.Duration
	recalls  []recall
	Turns    int // the number of turns in the story
	tally
	// `lines` counts the reminder lines that magicctx has added to prompts. `lineShare` is their share of the bill.
	// Both include the probe, in which the user asks about the needles.
	lines     int
	isProbed  bool
	lineShare float64
	causes    []schema.CauseCount
	removals  []schema.Removal
	// `excess` is the money that the run would have saved by busting at the best times. `best` lists the numbers of the
	// requests at these times.
	excess float64
	best   []int
}

// If a turn ends because the prompt is too long, play continues with the next turn. Any other failure ends the run.
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
		// OpenCode asks the provider to drop invalid thinking, so the simulated provider drops it. If it refused such
		// thinking instead, the session would end.
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

// causes returns the causes of the busts, and the removals, as the status counts them. If a request reached the
// provider without a pass, magicctx did not change this request, and the figures would be wrong. So causes returns an
// error then.
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
	// A failed call is a mistake in the story. It makes the prompts shorter than intended, so the run fails.
	failed, err := oc.FailedCalls(ctx, session)
	if err == nil && len(failed) > 0 {
		err = errors.New(failed[0])
	}
	return session, recalls, err
}

func (r run) model(turn int) string {
	if r.scene.switchAt > 0 && turn >= r.scene.switchAt {
		return r.billed.other
	}
	return r.billed.model
}

// pause advances the clocks of the provider and the host by twice the cache life, so the provider forgets the cached
// prompt.
func (r run) pause(p *provider) error {
	p.pause(2 * r.billed.route.Life)
	next := r.clock() + ".next" // a rename, so that the host never reads a half-written number
	if err := os.WriteFile(next, strconv.AppendInt(nil, p.now, 10), 0o600); err != nil {
		return err
	}
	return os.Rename(next, r.clock())
}

// clock returns the path of the file from which the host reads its clock. The file contains the difference to the
// machine's clock, in ms.
func (r run) clock() string { return filepath.Join(r.root, "clock") }

// isOverflow also looks for the provider's message, because OpenCode 2 does not report the type of the error.
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

// untilSettled waits until no run of the historian is under way. Otherwise, the machine's speed would decide which pass
// is the first to show a new compartment.
func untilSettled(ctx context.Context, user *stage.User) {
	for ctx.Err() == nil {
		status, err := user.Status(ctx)
		if err != nil || status.HistorianRuns == 0 {
			return // without a host, there are no runs
		}
		time.Sleep(5 * time.Millisecond)
	}
}
