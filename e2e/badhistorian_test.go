package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/agents/historian/historiantest"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/work"
)

type badHistorian struct {
	name   string
	answer func(chronicle.Range) mockllm.Step
	// The status must give a reason that contains `cause`. If `cause` is empty, the host accepts the answers of this
	// historian.
	cause  string
	isLate bool
	// dependsOnHarness means that the outcome of this case depends on the harness. All other cases run only with -all,
	// because the tests of internal/host cover them as well.
	dependsOnHarness bool
}

const slowness = 2 * time.Second

// The historian `silence` never answers, so the test does not wait for its answer.
const silence = "silence"

const endlessLoop = "endless loop"

// badHistorians are the entries of historiantest.Bad that a provider can play.
var badHistorians = []badHistorian{
	{name: "garbage", answer: always(mockllm.Say("<<<>>>&&& ]]> lorem <compartment <compartment start=><p1>")), cause: "no usable summary"},
	{name: "half an answer", answer: halfAnswer, cause: "the last messages are not covered"},
	{name: endlessLoop, answer: callsForEver, cause: "steps", dependsOnHarness: true},
	{name: "refusal", answer: always(mockllm.Say("I'm sorry, but I can't help with that request.")), cause: "no usable summary"},
	{name: "nothing", answer: always(mockllm.Say("")), cause: "empty", dependsOnHarness: true},
	{name: "wrong key", answer: always(mockllm.Fail(http.StatusUnauthorized, "authentication_error", "invalid x-api-key")), cause: "invalid x-api-key"},
	{name: silence, answer: always(mockllm.Step{Hang: true}), cause: "the window was nearly full", isLate: true, dependsOnHarness: true},
	{name: "slow", isLate: true, answer: func(r chronicle.Range) mockllm.Step {
		step := tellsInParts(r)
		step.Delay = slowness
		return step
	}},
	{name: "other language", answer: tells("用户要求修复登录错误")},
	{name: "delimiters", answer: tells(historiantest.Delimiters)},
	{name: "unescaped marks", answer: func(r chronicle.Range) mockllm.Step {
		return mockllm.Say(strings.ReplaceAll(historiantest.Output(historiantest.Compartment(r, "DELIMITERS")), "DELIMITERS", historiantest.Delimiters))
	}},
	{name: "instructions", answer: tells(historiantest.Instruction)},
}

func always(s mockllm.Step) func(chronicle.Range) mockllm.Step {
	return func(chronicle.Range) mockllm.Step { return s }
}

func tells(text string) func(chronicle.Range) mockllm.Step {
	return func(r chronicle.Range) mockllm.Step {
		return mockllm.Say(historiantest.Output(historiantest.Compartment(r, text)))
	}
}

// halfAnswer ends in the middle of an answer, as if the model had reached its limit of output tokens.
func halfAnswer(r chronicle.Range) mockllm.Step {
	middle := (r.Start + r.End) / 2
	first := historiantest.Compartment(chronicle.Range{Start: r.Start, End: middle}, "first")
	second := historiantest.Compartment(chronicle.Range{Start: middle + 1, End: r.End}, "second")
	whole := historiantest.Output(first, second)
	return mockllm.Step{Blocks: []mockllm.Block{mockllm.Text(whole[:strings.Index(whole, "second")])}, Stop: "max_tokens"}
}

func callsForEver(chronicle.Range) mockllm.Step {
	return mockllm.Call("", "read", map[string]any{"filePath": "job.log", "path": "job.log", "limit": 1})
}

// turns returns enough turns to fill the window.
func (b badHistorian) turns() int {
	switch {
	case suite.All():
		return 60
	case b.name == endlessLoop: // each run of this historian has many requests
		return 3
	}
	return 12
}

// The method `words` returns the number of words in each text, so that the turns of the session together fill the
// window.
func (b badHistorian) words() int {
	switch {
	case b.isLate: // the turns of this session have three steps
		return 1_500
	case b.name == endlessLoop && !suite.All():
		return 8_000
	}
	return 2_500
}

// If the historian gives bad answers, prompts still work, no message is lost, and the status names the reason.
func TestBadHistorians(t *testing.T) { testBadHistorians(t, schema.HarnessOpenCode) }

func testBadHistorians(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), logFiles())
	o := w.withHistorian()
	// All sessions of this test share the budget of one day. A historian that fails is asked again and again, which
	// would use up a usual budget, so this budget is larger.
	w.configure(`{"historian": {"disable": false}, "budget": {"money": 100, "historian": {"at_least": 100, "at_most": 100}}}`)
	a := w.launch(o)
	played := map[string]*talk{}
	for _, bad := range badHistorians {
		if !bad.dependsOnHarness && !suite.All() {
			continue
		}
		t.Run(bad.name+"/play", func(t *testing.T) {
			k := w.in(t).talk(a, strings.ReplaceAll(bad.name, " ", "-"), bad.answer)
			steps := 1 // with one step per turn, a run of the historian ends before the next prompt
			k.words, k.lines = bad.words(), 150
			if bad.isLate {
				steps = 3
			}
			for range bad.turns() {
				k.turn(steps)
				if bad.name != silence {
					k.settle()
				}
			}
			played[bad.name] = k
		})
	}
	w.stop(a)
	w.stopHost()
	for _, bad := range badHistorians {
		k, ok := played[bad.name]
		if !ok {
			continue
		}
		t.Run(bad.name+"/check", func(t *testing.T) {
			k.world = w.in(t)
			k.read()
			k.checkHistory()
			k.checkMadeBy(bad)
		})
	}
}

func (k *talk) checkMadeBy(bad badHistorian) {
	k.t.Helper()
	// The requests to the silent historian may be aborted before they reach the provider, so the provider may not have
	// counted them.
	if k.asked == 0 && bad.name != silence || len(k.rows) == 0 {
		k.t.Fatalf("the historian was asked %d times, and %d compartments are published", k.asked, len(k.rows))
	}
	k.t.Logf("the historian was asked %d times in %d runs, %d compartments are published", k.asked, len(k.runs), len(k.rows))
	isTaken := bad.cause == ""
	for i, row := range k.rows {
		if i > 0 && isTaken && bad.isLate {
			break // the window may be full before the second answer comes; later compartments are then made without the model
		}
		if byModel := row.MadeBy == chronicle.ByModel; byModel != isTaken {
			k.t.Errorf("the messages %d to %d were summarised in the way %s", row.Start, row.End, row.MadeBy)
		}
	}
	if bad.name == endlessLoop && k.harness == schema.HarnessPi {
		bad.cause = "empty" // Pi's process ends after the last step, without a text
	}
	isNamed := strings.Contains(k.summary.LastError, bad.cause) ||
		slices.ContainsFunc(k.runs, func(r work.RunRow) bool { return strings.Contains(r.Reason, bad.cause) })
	if !isNamed {
		k.t.Errorf("the cause is %q, want one with %q", k.summary.LastError, bad.cause)
	}
}
