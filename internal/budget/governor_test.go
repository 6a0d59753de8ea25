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
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/models"
	"github.com/magicctx/magicctx-host/store/work"
)

type bench struct {
	*Governor
	clock *clock.Manual
	dir   string
	cfg   schema.Config
	count int
}

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func newBench(t *testing.T) *bench {
	b := &bench{clock: clock.NewManual(noon.UnixMilli()), dir: t.TempDir(), cfg: config.Default()}
	b.open(t)
	t.Cleanup(func() { b.Store.Close() })
	return b
}

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

func (b *bench) crash(t testing.TB) {
	b.Store.Close()
	b.open(t)
}

// session starts a session in a new project, and takes the historian's lease.
func (b *bench) session(t testing.TB) agent.Asker {
	b.count++
	key := store.Key{Harness: "opencode", Session: fmt.Sprint("ses_", b.count)}
	err := b.Store.CommitPass(t.Context(), store.PassCommit{
		Session: store.SessionRow{Key: key, Directory: "/p", Project: b.project(), Mode: "primary", TagCounter: 1, Provider: "p", Model: "own"},
		Pass:    store.PassRow{Pass: 1, Verdict: "steady", At: b.clock.Now()},
	})
	if err != nil {
		t.Fatal(err)
	}
	a := agent.Asker{Harness: schema.HarnessOpenCode, Directory: fmt.Sprint("/p", b.count), Session: key.Session, Lease: agent.Lease{Store: b.Store, Work: store.HistorianOf(key), Holder: "1.1"}}
	b.lease(t, &a)
	return a
}

func (b *bench) project() string { return fmt.Sprint("git:", b.count) }

func (b *bench) dreamer(t testing.TB) agent.Asker {
	a := agent.Asker{Harness: schema.HarnessOpenCode, Directory: fmt.Sprint("/p", b.count), Lease: agent.Lease{Store: b.Store, Work: memories.DreamerOf(b.project()), Holder: "1.2"}}
	b.lease(t, &a)
	return a
}

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

// `used` is the usage that the provider bills for each step. The host may never learn it.
type openCall struct {
	settle func(agent.End)
	model  string
	used   []ask.Usage
	day    int
	agents string
}

// daily is the provider's bill for one day. Each map has an entry for each group of agents with a budget of its own,
// for example "historian", and an entry "" for all agents together.
type daily struct {
	money  map[string]float64
	tokens map[string]int
}

func (b *daily) add(agents string, p schema.Price, used []ask.Usage, sign int) {
	for _, u := range used {
		for _, of := range []string{agents, ""} {
			b.money[of] += float64(sign) * bill1(p, u)
			b.tokens[of] += sign * (u.Input + u.Output + u.CacheRead + u.CacheWrite)
		}
	}
}

// On no day may the bill exceed a budget, not even by a token or a billionth of a dollar. The test varies prices and
// answers, crashes the host, and cuts off calls.
func TestNoBudgetIsExceeded(t *testing.T) {
	b := newBench(t)
	dollars := rapid.Float64Range(0, 20)
	// Often, the budget in money or the budget in tokens is too large to be reached. Then the test covers the other
	// budget alone.
	money := rapid.OneOf(rapid.Just(100.0), rapid.Float64Range(0, 0.5))
	most := rapid.OneOf(rapid.Just(1_000_000), rapid.IntRange(0, 100_000))
	rapid.Check(t, func(r *rapid.T) {
		prices := make(map[string]schema.Price)
		for _, name := range []string{"own", "small", "large"} {
			prices["p/"+name] = schema.Price{Fresh: dollars.Draw(r, "fresh") + 0.01, Write: dollars.Draw(r, "write") + 0.01, Read: dollars.Draw(r, "read") + 0.01, Output: dollars.Draw(r, "output")}
			b.price(t, name, prices["p/"+name], rapid.SampledFrom([]int{100, 1000, 4000}).Draw(r, "longest answer"))
		}
		part := func(of string) schema.OthersBudget {
			return schema.OthersBudget{
				Percent: float64(rapid.IntRange(0, 100).Draw(r, of+" percent")), AtLeast: rapid.Float64Range(0, 0.2).Draw(r, of+" at least"),
				AtMost: money.Draw(r, of+" at most"), Tokens: most.Draw(r, of+" tokens"),
			}
		}
		budget := schema.Budget{Money: money.Draw(r, "money"), Tokens: most.Draw(r, "tokens"), Historian: schema.HistorianBudget(part("historian")), Others: part("others")}
		b.cfg.Budget = budget
		askers := []agent.Asker{b.session(t), b.dreamer(t)}
		key := store.Key{Harness: askers[0].Lease.Work.Subject.Harness, Session: askers[0].Session}
		own := ask.Usage{Input: rapid.IntRange(0, 500_000).Draw(r, "own prompts")}
		if err := b.Store.SaveUsage(t.Context(), key, 1, own.Input, 0, 0); err != nil {
			r.Fatal(err)
		}
		mean := bill1(prices["p/own"], own) / 7

		var open []openCall
		bills := []*daily{{map[string]float64{}, map[string]int{}}}
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			switch rapid.SampledFrom([]string{"ask", "ask", "ask", "ask", "ask", "ask", "end", "end", "end", "crash", "midnight"}).Draw(r, "step") {
			case "ask":
				a := rapid.SampledFrom(askers).Draw(r, "agent")
				q := ask.Request{
					Agent: "magicctx-historian", Model: rapid.SampledFrom([]string{"p/own", "p/small", "p/large", "p/free", ""}).Draw(r, "model"),
					Prompt: strings.Repeat("word ", rapid.SampledFrom([]int{1, 3000}).Draw(r, "words")), MaxOutput: rapid.SampledFrom([]int{0, 50, 500, 5000}).Draw(r, "bound of the answer"),
				}
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
				agents := work.Others
				if a.Lease.Work.Agent == work.Historian {
					agents = work.Historian
				}
				c := openCall{settle, answered, usage(r, b.longest(t, q), q, steps), len(bills) - 1, agents}
				open = append(open, c)
				bills[c.day].add(agents, prices[answered], c.used, 1)
			case "end":
				if len(open) > 0 {
					i := rapid.IntRange(0, len(open)-1).Draw(r, "call")
					c := open[i]
					end := agent.End{Steps: len(c.used)}
					switch rapid.IntRange(0, 3).Draw(r, "end") {
					case 0: // the provider bills the question, but the host gets no answer
						end = agent.End{Err: &ask.Error{Kind: ask.TimedOut}, IsUnknown: true}
						c.used = nil
					case 1: // the harness has cut the call off within a step, and the provider bills this step in full
						end = agent.End{Err: &ask.Error{Kind: ask.Aborted}, Steps: rapid.IntRange(0, len(c.used)).Draw(r, "finished")}
						bills[c.day].add(c.agents, prices[c.model], c.used[min(end.Steps+1, len(c.used)):], -1)
						c.used = c.used[:end.Steps]
					case 2:
						end.Err = &ask.Error{Kind: ask.Other}
					}
					end.Model = c.model
					for _, u := range c.used {
						end.Usage = end.Usage.Plus(u)
					}
					c.settle(end)
					open = append(open[:i], open[i+1:]...)
				}
			case "crash":
				open = nil
				b.crash(t)
				b.lease(t, &askers[0])
				b.lease(t, &askers[1])
			case "midnight":
				b.clock.Advance(24 * time.Hour)
				b.lease(t, &askers[0])
				b.lease(t, &askers[1])
				bills = append(bills, &daily{map[string]float64{}, map[string]int{}})
			}
			for day, billed := range bills {
				for agents, of := range map[string]schema.OthersBudget{work.Historian: schema.OthersBudget(budget.Historian), work.Others: budget.Others, "": {AtLeast: budget.Money, AtMost: budget.Money, Tokens: budget.Tokens}} {
					limit := min(max(of.Percent/100*shareOn(day, mean), of.AtLeast), of.AtMost)
					if billed.money[agents] > limit+1e-9 || billed.tokens[agents] > of.Tokens {
						r.Fatalf("on day %d, %q have spent $%v of $%v and %d of %d tokens", day, agents, billed.money[agents], limit, billed.tokens[agents], of.Tokens)
					}
				}
			}
		}
		b.clock.Advance(24 * time.Hour)
	})
}

func shareOn(day int, share float64) float64 {
	if day > 7 {
		return 0
	}
	return share
}

func (b *bench) longest(t testing.TB, q ask.Request) int {
	_, id, _ := ask.Split(q.Model)
	row, _, err := b.Store.Models.Limits(t.Context(), "p", id)
	if err != nil {
		t.Fatal(err)
	}
	longest := 32_000
	for _, bound := range []int{q.MaxOutput, row.OutputTokens} {
		if bound > 0 {
			longest = min(longest, bound)
		}
	}
	return longest
}

// The function `usage` invents the usage of each step. The provider may count up to twice as many tokens as the host,
// and the harness may add up to 4,000 tokens.
func usage(r *rapid.T, longest int, q ask.Request, steps int) (all []ask.Usage) {
	read, isWorst := 0, rapid.Bool().Draw(r, "the worst case")
	for range steps {
		input, output := read+2*q.Tokens()+4000, longest
		if !isWorst {
			input = read + q.Tokens()*rapid.IntRange(1, 2).Draw(r, "coarseness") + rapid.IntRange(0, 4000).Draw(r, "framing")
			output = rapid.IntRange(0, longest).Draw(r, "answer")
		}
		u := ask.Usage{Output: output}
		switch rapid.IntRange(0, 2).Draw(r, "cache") {
		case 0:
			u.Input = input
		case 1:
			u.CacheWrite = input
		case 2:
			u.CacheRead = input / 2
			u.Input = input - input/2
		}
		all, read = append(all, u), read+output
	}
	return all
}

func bill1(p schema.Price, u ask.Usage) float64 {
	return (float64(u.Input)*p.Fresh + float64(u.CacheWrite)*p.Write + float64(u.CacheRead)*p.Read + float64(u.Output)*p.Output) / 1e6
}

var question = ask.Request{Agent: "magicctx-historian", Model: "p/own", Prompt: "Summarise."}

func (b *bench) begin(t *testing.T, a agent.Asker) (settle func(agent.End)) {
	t.Helper()
	settle, err := b.Begin(t.Context(), a, question, 1)
	if err != nil {
		t.Fatal(err)
	}
	return settle
}

// A budget is a share of the cost of an average day's prompts, between a minimum and a maximum. The historian has its
// own budget.
func TestBudgetOfADay(t *testing.T) {
	b := newBench(t)
	b.price(t, "own", schema.Price{Fresh: 1, Write: 1, Read: 1}, 100)
	a := b.session(t)
	dreamer := b.dreamer(t)
	key := store.Key{Harness: "opencode", Session: a.Session}
	for _, test := range []struct {
		own    schema.OthersBudget
		prompt int // tokens at $1 per million
		days   int // since the prompt
		want   float64
	}{
		{schema.OthersBudget{Percent: 10, AtMost: 9}, 70_000_000, 0, 1}, // 10 % of $70, divided by seven days
		{schema.OthersBudget{Percent: 10, AtMost: 9}, 70_000_000, 7, 1},
		{schema.OthersBudget{Percent: 10, AtMost: 9}, 70_000_000, 8, 0},
		{schema.OthersBudget{Percent: 10, AtLeast: 2, AtMost: 9}, 70_000_000, 0, 2},
		{schema.OthersBudget{Percent: 10, AtLeast: 2, AtMost: 0.5}, 70_000_000, 0, 0.5},
	} {
		if err := b.Store.SaveUsage(t.Context(), key, 1, test.prompt, 0, 0); err != nil {
			t.Fatal(err)
		}
		test.own.Tokens = 8
		b.clock.Set(noon.AddDate(0, 0, test.days).UnixMilli())
		today, tomorrow := b.day()
		midnight := noon.Add(-12*time.Hour).AddDate(0, 0, test.days)
		for agents, of := range map[string]struct {
			asker  agent.Asker
			budget schema.Budget
		}{
			"historian": {a, schema.Budget{Money: 0.25, Tokens: 7, Historian: schema.HistorianBudget(test.own)}},
			"others":    {dreamer, schema.Budget{Money: 0.25, Tokens: 7, Others: test.own}},
		} {
			caps, err := b.caps(t.Context(), schema.Config{Budget: of.budget}, of.asker.Lease.Work, today)
			want := []work.Cap{
				{Money: chronicle.Dollar / 4, Tokens: 7, Since: midnight.UnixMilli()},
				{Agents: agents, Money: int64(test.want * chronicle.Dollar), Tokens: 8, Since: midnight.UnixMilli()},
			}
			if err != nil || !slices.Equal(caps, want) || !tomorrow.Equal(midnight.AddDate(0, 0, 1)) {
				t.Errorf("%s, %+v: %+v until %v, %v, want %+v", agents, test, caps, tomorrow, err, want)
			}
		}
	}
}

// If a project's prompts have cost nothing yet, its historian has $5 a day, and its other agents have $0.20.
func TestDefaultBudgets(t *testing.T) {
	b := newBench(t)
	a := b.session(t)
	today, _ := b.day()
	for _, test := range []struct {
		asker agent.Asker
		want  int64
	}{{a, 5 * chronicle.Dollar}, {b.dreamer(t), chronicle.Dollar / 5}} {
		caps, err := b.caps(t.Context(), b.cfg, test.asker.Lease.Work, today)
		if err != nil || caps[1].Money != test.want || caps[0].Money < caps[1].Money {
			t.Errorf("%+v, %v, want %d", caps, err, test.want)
		}
	}
}

// A budget of 0 pays for no call, neither today nor tomorrow. So the refusal must not say when the agents will
// continue.
func TestBudgetOfNothingNeverGoesOn(t *testing.T) {
	b := newBench(t)
	for _, cap := range []work.Cap{{Tokens: 9}, {Money: 9}} {
		if text := b.stop(t.Context(), work.Work{}, &work.OverBudget{Cap: cap}, noon); !strings.Contains(text, "does not pay for any such call") {
			t.Errorf("%+v: %s", cap, text)
		}
	}
}

func TestUnknownCallsCountInFull(t *testing.T) {
	for name, end := range map[string]func(b *bench, settle func(agent.End)){
		"it has not ended": func(*bench, func(agent.End)) {},
		"the host crashed": func(b *bench, _ func(agent.End)) { b.crash(t) },
		"nobody answers": func(_ *bench, settle func(agent.End)) {
			settle(agent.End{Err: &ask.Error{Kind: ask.TimedOut}, IsUnknown: true})
		},
		"the shim has gone": func(_ *bench, settle func(agent.End)) {
			settle(agent.End{Err: &ask.Error{Kind: ask.Aborted}, IsUnknown: true})
		},
		"cut off, one step": func(_ *bench, settle func(agent.End)) { settle(agent.End{Err: &ask.Error{Kind: ask.TimedOut}}) },
		"aborted, one step": func(_ *bench, settle func(agent.End)) { settle(agent.End{Err: &ask.Error{Kind: ask.Aborted}}) },
		"a failure unproven": func(_ *bench, settle func(agent.End)) {
			settle(agent.End{Err: &ask.Error{Kind: ask.Other}, IsUnknown: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.price(t, "own", schema.Price{Fresh: 1, Write: 1, Read: 1, Output: 1}, 1000)
			needs := b.Worst(t.Context(), b.cfg, question, 1)
			b.cfg.Budget.Money = 1.5 * needs.Dollars()
			a := b.session(t)
			end(b, b.begin(t, a))
			b.lease(t, &a)
			if _, err := b.Begin(t.Context(), a, question, 1); !isOver(err) || !strings.Contains(err.Error(), "00:00 on 16 November") {
				t.Errorf("a second call: %v", err)
			}
			stop := b.Stopped(a.Lease.Work)
			if stop == nil || stop.Agents != "" || int64(stop.SpentMoney*chronicle.Dollar+0.5) != needs.Money || stop.Until != noon.Add(12*time.Hour).UnixMilli() {
				t.Errorf("stopped: %+v", stop)
			}
			b.crash(t)
			if again := b.Stopped(a.Lease.Work); stop == nil || again == nil || *again != *stop {
				t.Errorf("after a restart: %+v", again)
			}
			a.Lease.Store = b.Store
			b.clock.Advance(12 * time.Hour)
			b.lease(t, &a)
			b.begin(t, a)
			b.clock.Advance(-12 * time.Hour) // the refusal is deleted, not only expired
			b.crash(t)
			if b.Stopped(a.Lease.Work) != nil {
				t.Error("it does not go on after midnight")
			}
		})
	}
}

// A call of three steps was cut off after its first step. The host books the reported cost of the first step, the
// worst case of the second step, and nothing for the third step.
func TestCutCallsAreBounded(t *testing.T) {
	b := newBench(t)
	b.price(t, "own", schema.Price{Fresh: 1, Write: 1, Read: 1, Output: 1}, 1000)
	a := b.session(t)
	settle, err := b.Begin(t.Context(), a, question, 3)
	if err != nil {
		t.Fatal(err)
	}
	settle(agent.End{Answer: ask.Answer{Model: "p/own", Usage: ask.Usage{Input: 300, Output: 20}}, Err: &ask.Error{Kind: ask.Aborted}, Steps: 1})
	calls, _, err := work.View(t.Context(), b.dir, 0)
	if err != nil || len(calls) != 1 {
		t.Fatalf("%+v, %v", calls, err)
	}
	// In the worst case, the provider counts twice as many tokens for the question as the host, so the question is in
	// the sum twice. The second step also reads 4,000 tokens of framing and the first answer of 1,000 tokens, and it
	// writes 1,000 tokens.
	want := int64(320+2*question.Tokens()+4000+1000+1000) * chronicle.Dollar / 1_000_000
	if c := calls[0]; c.Cost != nil || c.Reserved != want || c.Input != 300 || c.Output != 20 {
		t.Errorf("%+v, want %d", c, want)
	}
}

func TestKnownCallsCountWithTheirCost(t *testing.T) {
	b := newBench(t)
	b.price(t, "own", schema.Price{Fresh: 1, Write: 1, Read: 1, Output: 1}, 1000)
	needs := b.Worst(t.Context(), b.cfg, question, 1)
	b.cfg.Budget.Money = 1.5 * needs.Dollars()
	a := b.session(t)
	b.begin(t, a)(agent.End{Err: &ask.Error{Kind: ask.Other}})
	b.begin(t, a)(agent.End{Answer: ask.Answer{Usage: ask.Usage{Input: 100, Output: 10}}})
	b.begin(t, a)
	calls, _, err := work.View(t.Context(), b.dir, 0)
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

func TestBoundedAnswersCostLess(t *testing.T) {
	b := newBench(t)
	b.price(t, "own", schema.Price{Fresh: 1}, 0)
	short := question
	short.MaxOutput = 2_000
	long, bounded := b.Worst(t.Context(), b.cfg, question, 2), b.Worst(t.Context(), b.cfg, short, 2)
	// If a question has no bound, an answer may have 32,000 tokens. The first answer is billed twice, because the
	// second step reads it again. So the two steps are billed for three answers.
	if long.Tokens-bounded.Tokens != 3*(32_000-2_000) || bounded.Money >= long.Money {
		t.Errorf("at most %+v, and %+v with a bound", long, bounded)
	}
}

func TestNothingIsAskedWithoutABudgetOrALease(t *testing.T) {
	b := newBench(t)
	a := b.session(t)
	dreamer := b.dreamer(t)
	for name, set := range map[string]func(*schema.Budget){
		"all money":           func(c *schema.Budget) { c.Money = 0 },
		"all tokens":          func(c *schema.Budget) { c.Tokens = 0 },
		"historian's money":   func(c *schema.Budget) { c.Historian.AtMost = 0 },
		"historian's tokens":  func(c *schema.Budget) { c.Historian.Tokens = 0 },
		"of others, of money": func(c *schema.Budget) { c.Others.AtMost = 0 },
		"of others, tokens":   func(c *schema.Budget) { c.Others.Tokens = 0 },
	} {
		b.cfg = config.Default()
		set(&b.cfg.Budget)
		for _, asker := range []agent.Asker{a, dreamer} {
			a.Directory += "/" // the configuration of a directory is read once
			asker.Directory = a.Directory
			_, err := b.Begin(t.Context(), asker, question, 1)
			isBounded := strings.Contains(name, "all") || strings.Contains(name, "historian") == (asker.Session != "")
			if isOver(err) != isBounded {
				t.Errorf("%s of %+v: %v", name, asker.Lease.Work, err)
			}
		}
	}
	b.cfg = config.Default()
	a.Directory += "/"
	b.begin(t, a)
	a.Lease.Holder = "another run"
	_, err := b.Begin(t.Context(), a, question, 1)
	if ask.Classify(err) != ask.Aborted {
		t.Errorf("without the lease: %v", err)
	}
}
