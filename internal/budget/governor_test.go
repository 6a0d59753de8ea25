package budget

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/internal/agent"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/models"
	"github.com/magicctx/magicctx-host/store/work"
)

// A bench is a governor over a real store, with a clock and a configuration that the test sets.
type bench struct {
	*Governor
	clock *clock.Manual
	dir   string
	cfg   schema.Config
	count int
}

// noon is 12:00 on 15 November 2026 in UTC.
var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func newBench(t *testing.T) *bench {
	b := &bench{clock: clock.NewManual(noon.UnixMilli()), dir: t.TempDir(), cfg: config.Default()}
	b.open(t)
	t.Cleanup(func() { b.Store.Close() })
	return b
}

// open opens the store as a new host does.
func (b *bench) open(t testing.TB) {
	log := slog.New(slog.DiscardHandler)
	s, err := store.Open(t.Context(), store.Options{Dir: b.dir, Log: log, Clock: b.clock})
	if err != nil {
		t.Fatal(err)
	}
	clients := client.NewRegistry(func(schema.Harness, string) (schema.Config, []config.Warning) { return b.cfg, nil })
	b.Governor = New(Options{
		Store: s, Clients: clients, Clock: b.clock, Log: log, Zone: time.UTC,
		Models: model.New(model.Options{Store: s, Guard: store.NewGuard(log, time.Second), Clients: clients, Clock: b.clock, Log: log}),
	})
}

// crash ends the host and starts another one.
func (b *bench) crash(t testing.TB) {
	b.Store.Close()
	b.open(t)
}

// session returns the asker of a new session in a project of its own, whose run holds the lease.
func (b *bench) session(t testing.TB) agent.Asker {
	b.count++
	key := store.Key{Harness: "opencode", Session: fmt.Sprint("ses_", b.count)}
	err := b.Store.CommitPass(t.Context(), store.PassCommit{
		Session: store.SessionRow{Key: key, Directory: "/p", Project: fmt.Sprint("git:", b.count), Mode: "primary", TagCounter: 1, Provider: "p", Model: "own"},
		Pass:    store.PassRow{Pass: 1, Verdict: "steady", At: b.clock.Now()},
	})
	if err != nil {
		t.Fatal(err)
	}
	a := agent.Asker{Harness: schema.HarnessOpenCode, Directory: fmt.Sprint("/p", b.count), Session: key.Session, Lease: agent.Lease{Store: b.Store, Work: store.HistorianOf(key), Holder: "1.1"}}
	b.lease(t, &a)
	return a
}

// lease takes the lease of a's run again.
func (b *bench) lease(t testing.TB, a *agent.Asker) {
	a.Lease.Store = b.Store
	if acquired, err := a.Lease.Acquire(t.Context()); err != nil || !acquired {
		t.Fatalf("lease: %v, %v", acquired, err)
	}
}

func (b *bench) price(t testing.TB, name string, p schema.Price, output int) {
	err := b.Store.Models.SaveLimits(t.Context(), models.LimitsRow{
		Provider: "p", Model: name, NPM: "@ai-sdk/anthropic", ContextTokens: 200_000, OutputTokens: output,
		PriceFresh: p.Fresh, PriceWrite: p.Write, PriceRead: p.Read, PriceOutput: p.Output,
	})
	if err != nil {
		t.Fatal(err)
	}
}

func isOver(err error) bool {
	var failed *ask.Error
	return errors.As(err, &failed) && failed.Kind == ask.OverBudget
}

// An open call is a call that has begun. paid is what the provider bills for it in the end, whatever the host hears.
type openCall struct {
	settle func(ask.Answer, error)
	answer ask.Answer
	day    int
}

// Whatever the models cost and answer, and whenever the host crashes, what the provider bills on one day never exceeds
// the day's budget, neither by one token nor by a billionth of a dollar.
func TestNoBudgetIsExceeded(t *testing.T) {
	b := newBench(t)
	dollars := rapid.Float64Range(0, 20)
	// Each bound of the budget is often too large to matter, so that the others decide.
	money := rapid.OneOf(rapid.Just(100.0), rapid.Float64Range(0, 0.5))
	most := rapid.OneOf(rapid.Just(1_000_000), rapid.IntRange(0, 100_000))
	rapid.Check(t, func(r *rapid.T) {
		prices := make(map[string]schema.Price)
		for _, name := range []string{"own", "small", "large"} {
			prices["p/"+name] = schema.Price{Fresh: dollars.Draw(r, "fresh") + 0.01, Write: dollars.Draw(r, "write") + 0.01, Read: dollars.Draw(r, "read") + 0.01, Output: dollars.Draw(r, "output")}
			b.price(t, name, prices["p/"+name], rapid.SampledFrom([]int{100, 1000, 4000}).Draw(r, "longest answer"))
		}
		budget := schema.Budget{
			Percent: float64(rapid.IntRange(0, 100).Draw(r, "percent")), AtLeast: rapid.Float64Range(0, 0.2).Draw(r, "at least"), AtMost: money.Draw(r, "at most"),
			Tokens:    most.Draw(r, "tokens"),
			Historian: schema.AgentBudget{Money: money.Draw(r, "historian's"), Tokens: most.Draw(r, "historian's tokens")},
		}
		b.cfg.Budget = budget
		a := b.session(t)
		key := store.Key{Harness: a.Lease.Work.Subject.Harness, Session: a.Session}
		own := ask.Usage{Input: rapid.IntRange(0, 500_000).Draw(r, "own prompts")}
		if err := b.Store.SaveUsage(t.Context(), key, 1, own.Input, 0, 0); err != nil {
			r.Fatal(err)
		}
		share := budget.Percent / 100 * bill1(prices["p/own"], own) / 7
		limit := min(max(share, budget.AtLeast), budget.AtMost, budget.Historian.Money)
		limitTokens := min(budget.Tokens, budget.Historian.Tokens)

		var open []openCall
		billed, tokens := make(map[int]float64), make(map[int]int)
		day := 0
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			switch rapid.SampledFrom([]string{"ask", "ask", "ask", "ask", "ask", "ask", "end", "end", "end", "crash", "midnight"}).Draw(r, "step") {
			case "ask":
				q := ask.Request{Agent: "magicctx-historian", Model: rapid.SampledFrom([]string{"p/own", "p/small", "p/large", "p/free", ""}).Draw(r, "model"), Prompt: strings.Repeat("word ", rapid.SampledFrom([]int{1, 3000}).Draw(r, "words"))}
				steps := rapid.IntRange(1, 3).Draw(r, "steps of the answer")
				settle, err := b.Begin(t.Context(), a, q, steps)
				if isOver(err) {
					continue
				}
				if err != nil {
					r.Fatal(err)
				}
				answered := q.Model
				if answered == "" {
					answered = rapid.SampledFrom([]string{"p/own", "p/small", "p/large"}).Draw(r, "the harness's model")
				}
				used := usage(r, b.longest(t, q.Model), q, steps)
				open = append(open, openCall{settle, ask.Answer{Model: answered, Usage: used}, day})
				billed[day] += bill1(prices[answered], used)
				tokens[day] += used.Input + used.Output + used.CacheRead + used.CacheWrite
			case "end":
				if len(open) > 0 {
					i := rapid.IntRange(0, len(open)-1).Draw(r, "call")
					err := error(nil)
					switch rapid.IntRange(0, 3).Draw(r, "end") {
					case 0: // the provider has read the question, and the host hears nothing of it
						err, open[i].answer.Usage = &ask.Error{Kind: ask.TimedOut}, ask.Usage{}
					case 1:
						err = &ask.Error{Kind: ask.Other}
					}
					open[i].settle(open[i].answer, err)
					open = append(open[:i], open[i+1:]...)
				}
			case "crash":
				open = nil
				b.crash(t)
				b.lease(t, &a)
			case "midnight":
				b.clock.Advance(24 * time.Hour)
				b.lease(t, &a)
				day++
				limit = min(max(shareOn(day, share), budget.AtLeast), budget.AtMost, budget.Historian.Money)
			}
			if billed[day] > limit+1e-9 || tokens[day] > limitTokens {
				r.Fatalf("on day %d, $%v of $%v and %d of %d tokens", day, billed[day], limit, tokens[day], limitTokens)
			}
		}
		b.clock.Advance(24 * time.Hour)
	})
}

// shareOn returns the share of the prompts of day 0 that a later day may spend.
func shareOn(day int, share float64) float64 {
	if day > 7 {
		return 0
	}
	return share
}

// longest returns the longest answer that a model writes in one step.
func (b *bench) longest(t testing.TB, name string) int {
	_, id, _ := ask.Split(name)
	row, _, err := b.Store.Models.Limits(t.Context(), "p", id)
	if err != nil {
		t.Fatal(err)
	}
	if row.OutputTokens == 0 || row.OutputTokens > 32_000 {
		return 32_000
	}
	return row.OutputTokens
}

// usage returns a random usage of a question that a provider counts with up to twice our tokens.
func usage(r *rapid.T, longest int, q ask.Request, steps int) (u ask.Usage) {
	read, isWorst := 0, rapid.Bool().Draw(r, "the worst case")
	for range steps {
		input, output := read+2*q.Tokens()+4000, longest
		if !isWorst {
			input = read + q.Tokens()*rapid.IntRange(1, 2).Draw(r, "coarseness") + rapid.IntRange(0, 4000).Draw(r, "framing")
			output = rapid.IntRange(0, longest).Draw(r, "answer")
		}
		switch rapid.IntRange(0, 2).Draw(r, "cache") {
		case 0:
			u.Input += input
		case 1:
			u.CacheWrite += input
		case 2:
			u.CacheRead += input / 2
			u.Input += input - input/2
		}
		u.Output += output
		read += output
	}
	return u
}

// bill1 returns the price of a usage in $. A provider charges for reading no more than for writing.
func bill1(p schema.Price, u ask.Usage) float64 {
	return (float64(u.Input)*p.Fresh + float64(u.CacheWrite)*p.Write + float64(u.CacheRead)*p.Read + float64(u.Output)*p.Output) / 1e6
}

var question = ask.Request{Agent: "magicctx-historian", Model: "p/own", Prompt: "Summarise."}

// begin begins a question that must fit into the budget.
func (b *bench) begin(t *testing.T, a agent.Asker) (settle func(ask.Answer, error)) {
	t.Helper()
	settle, err := b.Begin(t.Context(), a, question, 1)
	if err != nil {
		t.Fatal(err)
	}
	return settle
}

// The budget of a day is a share of the prompts of a mean day, within its bounds. A tighter bound of the agent counts.
func TestBudgetOfADay(t *testing.T) {
	b := newBench(t)
	b.price(t, "own", schema.Price{Fresh: 1, Write: 1, Read: 1}, 100)
	a := b.session(t)
	key := store.Key{Harness: "opencode", Session: a.Session}
	for _, test := range []struct {
		budget schema.Budget
		prompt int // tokens at $1 per million
		days   int // since the prompt
		want   float64
	}{
		{schema.Budget{Percent: 10, AtMost: 9}, 70_000_000, 0, 1}, // 10 % of $70, divided by seven days
		{schema.Budget{Percent: 10, AtMost: 9}, 70_000_000, 7, 1},
		{schema.Budget{Percent: 10, AtMost: 9}, 70_000_000, 8, 0},
		{schema.Budget{Percent: 10, AtLeast: 2, AtMost: 9}, 70_000_000, 0, 2},
		{schema.Budget{Percent: 10, AtLeast: 2, AtMost: 0.5}, 70_000_000, 0, 0.5},
	} {
		if err := b.Store.SaveUsage(t.Context(), key, 1, test.prompt, 0, 0); err != nil {
			t.Fatal(err)
		}
		test.budget.Tokens, test.budget.Historian = 7, schema.AgentBudget{Money: 0.25, Tokens: 8}
		b.clock.Set(noon.AddDate(0, 0, test.days).UnixMilli())
		today, tomorrow := b.day()
		caps, err := b.caps(t.Context(), schema.Config{Budget: test.budget}, a.Lease.Work, today)
		midnight := noon.Add(-12*time.Hour).AddDate(0, 0, test.days)
		want := []work.Cap{
			{Money: int64(test.want * chronicle.Dollar), Tokens: 7, Since: midnight.UnixMilli()},
			{Agent: "historian", Money: chronicle.Dollar / 4, Tokens: 8, Since: midnight.UnixMilli()},
		}
		if err != nil || !slices.Equal(caps, want) || !tomorrow.Equal(midnight.AddDate(0, 0, 1)) {
			t.Errorf("%+v: %+v until %v, %v, want %+v", test, caps, tomorrow, err, want)
		}
	}
}

// If nobody knows what a call has cost, it counts with its worst case until midnight.
func TestUnknownCallsCountInFull(t *testing.T) {
	for name, end := range map[string]func(b *bench, settle func(ask.Answer, error)){
		"it has not ended":    func(*bench, func(ask.Answer, error)) {},
		"the host crashed":    func(b *bench, _ func(ask.Answer, error)) { b.crash(t) },
		"it missed its time":  func(_ *bench, settle func(ask.Answer, error)) { settle(ask.Answer{}, &ask.Error{Kind: ask.TimedOut}) },
		"it has been aborted": func(_ *bench, settle func(ask.Answer, error)) { settle(ask.Answer{}, &ask.Error{Kind: ask.Aborted}) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.price(t, "own", schema.Price{Fresh: 1, Write: 1, Read: 1, Output: 1}, 1000)
			needs := b.worst(t.Context(), b.cfg, question, 1)
			b.cfg.Budget.AtMost = 1.5 * float64(needs.Money) / chronicle.Dollar
			a := b.session(t)
			end(b, b.begin(t, a))
			b.lease(t, &a)
			if _, err := b.Begin(t.Context(), a, question, 1); !isOver(err) || !strings.Contains(err.Error(), "00:00 on 16 November") {
				t.Errorf("a second call: %v", err)
			}
			stop := b.Stopped(a.Lease.Work.Subject)
			if stop == nil || stop.Agent != "" || int64(stop.SpentMoney*chronicle.Dollar+0.5) != needs.Money || stop.Until != noon.Add(12*time.Hour).UnixMilli() {
				t.Errorf("stopped: %+v", stop)
			}
			b.clock.Advance(12 * time.Hour)
			b.lease(t, &a)
			if b.begin(t, a); b.Stopped(a.Lease.Work.Subject) != nil {
				t.Error("it does not go on after midnight")
			}
		})
	}
}

// The provider has refused a question, so the question has cost nothing, and another one fits. Then the real cost counts.
func TestKnownCallsCountWithTheirCost(t *testing.T) {
	b := newBench(t)
	b.price(t, "own", schema.Price{Fresh: 1, Write: 1, Read: 1, Output: 1}, 1000)
	needs := b.worst(t.Context(), b.cfg, question, 1)
	b.cfg.Budget.AtMost = 1.5 * float64(needs.Money) / chronicle.Dollar
	a := b.session(t)
	b.begin(t, a)(ask.Answer{}, &ask.Error{Kind: ask.Other})
	b.begin(t, a)(ask.Answer{Usage: ask.Usage{Input: 100, Output: 10}}, nil)
	b.begin(t, a)
	calls, err := work.View(t.Context(), b.dir, 0)
	if err != nil || len(calls) != 2 {
		t.Fatalf("%+v, %v", calls, err)
	}
	if c := calls[0]; c.Cost == nil || *c.Cost != 110*chronicle.Dollar/1_000_000 || c.Reserved != 0 {
		t.Errorf("the answered call: %+v", c)
	}
	if c := calls[1]; c.Cost != nil || c.Reserved != needs.Money {
		t.Errorf("the open call: %+v", c)
	}
}

// A budget of nothing means no call, even if no price is known. A run without the lease asks nothing.
func TestNothingIsAskedWithoutABudgetOrALease(t *testing.T) {
	b := newBench(t)
	a := b.session(t)
	for _, of := range []*float64{&b.cfg.Budget.AtMost, &b.cfg.Budget.Historian.Money} {
		before := *of
		*of = 0
		a.Directory += "/" // the configuration of a directory is read once
		if _, err := b.Begin(t.Context(), a, question, 1); !isOver(err) {
			t.Errorf("without money: %v", err)
		}
		*of = before
	}
	a.Directory += "/"
	b.begin(t, a)
	a.Lease.Holder = "another run"
	_, err := b.Begin(t.Context(), a, question, 1)
	if ask.Classify(err) != ask.Aborted {
		t.Errorf("without the lease: %v", err)
	}
}
