package main

import (
	"context"
	"os"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

var product stage.Product

func TestMain(m *testing.M) {
	os.Exit(suite.Main(m, func(ctx context.Context, dir string) (err error) {
		product, err = stage.Build(ctx, "../..", dir)
		return err
	}))
}

const smokeTurns = 3

func playSmoke(t *testing.T, by billed, v variant, l opencodetest.Limits) result {
	t.Helper()
	suite.Needs(t)
	r := run{variant: v, scene: scene{turns: smokeTurns, limits: l}, billed: by, spending: schema.SpendingBalanced, product: product, root: suite.Root(t)}
	res, err := r.play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if res.tally.Turns != smokeTurns || res.Overflows != 0 || res.Strangers != 0 {
		t.Errorf("%d of %d turns answered, %d overflows, %d strangers", res.tally.Turns, smokeTurns, res.Overflows, res.Strangers)
	}
	return res
}

// After three turns the window is full, OpenCode compacts the session, and the story must continue.
func TestStoryGoesOnAfterCompaction(t *testing.T) {
	suite.OnlyWithAll(t, "each scene of task bill goes on after compactions")
	limits := opencodetest.Limits{Context: 30_000, Output: 8_192}
	res := playSmoke(t, byAnthropic, withCompaction, limits)
	if res.Summaries == 0 || len(res.Busts) != res.Summaries {
		t.Errorf("%d summaries, busts %+v, want one bust for each summary", res.Summaries, res.Busts)
	}
	if res.Peak >= limits.Context {
		t.Errorf("the peak is %d", res.Peak)
	}
}

// If the window is never full, each request with magicctx must extend the previous request.
func TestStoryWithMagicctx(t *testing.T) {
	for _, by := range []billed{byAnthropic, byOpenAI} {
		t.Run(by.flag, func(t *testing.T) {
			if by.flag == byOpenAI.flag {
				suite.OnlyWithAll(t, "the shim and the host are the same, and TestUsageByOpenAI has the bill")
			}
			extendsEachRequest(t, playSmoke(t, by, withMagicctx, scenes[0].limits), by)
		})
	}
}

// OpenCode's compaction puts a new summary before old thinking. This makes the thinking invalid, but OpenCode still
// sends it. magicctx removes all thinking after a message that it changes, so it must send no invalid thinking.
func TestStoryOfThinkingThatIsBound(t *testing.T) {
	suite.OnlyWithAll(t, "TestBoundThinking (e2e) has these sessions")
	for _, v := range []variant{withCompaction, withMagicctx} {
		t.Run(v.name, func(t *testing.T) {
			limits := opencodetest.Limits{Context: 26_500, Output: 4_096} // a window that three turns fill
			res := playSmoke(t, byBinding, v, limits)
			k := res.Thinking
			if k.Sent == 0 || k.Valid == 0 || len(res.Busts) == 0 {
				t.Fatalf("%+v, %d busts", k, len(res.Busts))
			}
			if hasInvalid := k.invalid() > 0; hasInvalid == v.plugin || k.Lost > 0 {
				t.Errorf("%+v", k)
			}
		})
	}
}

func extendsEachRequest(t *testing.T, res result, by billed) {
	if hasFee := by.route.Write > 1; res.Tokens.Read == 0 || res.Tokens.Write > 0 != hasFee {
		t.Errorf("tokens %+v by the rules of %s", res.Tokens, by.route.Name)
	}
	if res.Requests != smokeTurns*(calls+1) || len(res.Busts) != 0 {
		t.Errorf("%d requests, busts %+v, want %d and none", res.Requests, res.Busts, smokeTurns*(calls+1))
	}
	// The content of the story's steps has a known size. A last prompt below this range lacks a part of the story. A
	// last prompt above it contains more beside the story than the system prompt, the tools and the tags.
	if res.Peak < 20_000 || res.Peak > 35_000 {
		t.Errorf("the peak is %d tokens", res.Peak)
	}
}

// The story fills the window several times, and the historian summarises. No message is lost, and a report shows the
// costs.
func TestStoryWithHistorian(t *testing.T) {
	suite.OnlyWithAll(t, "TestLongHistory (e2e) has such a session")
	suite.Needs(t)
	s := scene{name: "small", turns: 7, limits: opencodetest.Limits{Context: 34_000, Output: 4_096}}
	r := run{variant: withMagicctx, scene: s, billed: byAnthropic, spending: schema.SpendingBalanced, product: product, root: suite.Root(t)}
	res, err := r.play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Runs) == 0 || len(res.Busts) == 0 || res.Overflows != 0 || res.Strangers != 0 {
		t.Fatalf("%d runs of the historian, %d busts, %d overflows, %d strangers", len(res.Runs), len(res.Busts), res.Overflows, res.Strangers)
	}
	last := res.recalls[len(res.recalls)-1]
	if last.Turn != s.turns || last.Told != s.turns || last.Lost != 0 || last.Expandable+last.Summary == 0 {
		t.Errorf("needles: %+v", last)
	}
	f := newReport(s, byAnthropic, schema.SpendingBalanced, []result{res}).Runs[0]
	if f.HistorianBill <= 0 || f.HistorianBill >= f.WithOutput || len(f.Runs) != len(res.Runs) {
		t.Errorf("the historian's bill is $%.4f of $%.4f", f.HistorianBill, f.WithOutput)
	}
}
