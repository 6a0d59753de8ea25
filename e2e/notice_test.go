package e2e

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/schema"
)

// The user must get one notice for each bust, and one notice if the historian fails again and again.
func TestNotices(t *testing.T) { testNotices(t, schema.HarnessOpenCode) }

func TestPiNotices(t *testing.T) { testNotices(t, schema.HarnessPi) }

func testNotices(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), logFiles())
	// With flat prices, a bust costs nothing. So with any other value of `spending`, the host would remove the content
	// early, to save its rent. With "generous", the host waits for pressure, as the test expects.
	w.configure(`{"historian": {"disable": false}, "protected_tags": 1, "spending": "generous"}`)
	o := w.withFlatPrices()
	o.Limits = opencodetest.Limits{Context: historyWindow, Output: 4_000}
	a := w.launch(o)
	heard := w.hear(a)

	session := w.session(a)
	full := mockllm.Say("41.")
	full.Usage = &promptcache.Tokens{Fresh: 100, Read: historyWindow * 7 / 10}
	w.play(session, w.bash("toolu_1", "cat job.log"), mockllm.Call("toolu_2", "ctx_reduce", map[string]any{"drop": "2"}), full, mockllm.Say("Yes."), mockllm.Say("Still."), mockllm.Say("Always."))
	for _, prompt := range []string{"Read the log.", "Sure?", "Really?"} {
		w.prompt(a, session, prompt)
	}
	bust := regexp.MustCompile(`^[0-9.]+k → [0-9.]+k: [0-9]+ results? dropped\. The cache was rebuilt because the prompt had reached the threshold\. That saves (about|less than) \$[0-9.]+ (if [0-9]+ more requests? follows?|with this request)\. /ctx-menu taken brings dropped pieces back\.$`)
	w.wantOne(heard, "dropped", bust)

	w.checkStatusStays(a, session, heard)

	k := w.talk(a, "failing", always(mockllm.Fail(http.StatusUnauthorized, "authentication_error", "invalid x-api-key")))
	k.words, k.lines = 2_500, 150
	for range 12 {
		k.turn(1)
		k.settle()
	}
	w.wantOne(heard, "historian", regexp.MustCompile("failed twice in a row.*invalid x-api-key"))
	w.stop(a)
	w.stopHost()
	k.read()
	if k.summary.Failures < 3 {
		t.Errorf("the historian failed %d times, so that no third failure shows that the notice does not repeat", k.summary.Failures)
	}
}

// The answer to /ctx-status must stay on the screen and not reach the model. OpenCode stores it as an ignored message.
// Pi does not store it.
func (w *world) checkStatusStays(a agent.Agent, session string, heard func() []string) {
	w.t.Helper()
	const status = "Context: "
	before := w.last(session)
	if err := a.Command(w.ctx, session, "ctx-status"); err != nil {
		w.t.Fatal(err)
	}
	shown := heard()
	if oc, ok := a.(*agent.OpenCode); ok {
		messages, err := oc.Messages(w.ctx, session)
		if err != nil {
			w.t.Fatal(err)
		}
		shown = nil
		for _, m := range messages {
			shown = append(shown, m.Text())
		}
	}
	if !slices.ContainsFunc(shown, func(text string) bool { return strings.Contains(text, status) }) {
		w.t.Errorf("the user reads %q, without the status", shown)
	}
	w.prompt(a, session, "Still sure?")
	after := w.last(session)
	w.wantInBody(after, status, false)
	if where, ok := extends(before, after); !ok {
		w.t.Errorf("the status has changed the prompt: %s", where)
	}
}

func (w *world) hear(a agent.Agent) func() []string {
	w.t.Helper()
	if p, ok := a.(*agent.Pi); ok {
		return func() (all []string) {
			for _, n := range p.UIRequests("notify") {
				all = append(all, n.Message)
			}
			return all
		}
	}
	events, err := a.(*agent.OpenCode).Events(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	var mu sync.Mutex
	var all []string
	go func() {
		for e := range events {
			var toast struct {
				Message string `json:"message"`
			}
			if e.Type == "tui.toast.show" && json.Unmarshal(e.Properties, &toast) == nil {
				mu.Lock()
				all = append(all, toast.Message)
				mu.Unlock()
			}
		}
	}()
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

func (w *world) wantOne(heard func() []string, word string, want *regexp.Regexp) {
	w.t.Helper()
	var with []string
	for deadline := time.Now().Add(noticeTimeout); len(with) == 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		with = slices.DeleteFunc(heard(), func(n string) bool { return !strings.Contains(n, word) })
	}
	if len(with) != 1 || !want.MatchString(with[0]) {
		w.t.Errorf("notices %q of %q, want one that matches %s", with, heard(), want)
	}
	w.t.Logf("the user reads: %q", with)
}
