package e2e

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

func TestLongSessions(t *testing.T) {
	suite.OnlyWithAll(t, "Pi has these sessions, and TestKilledHostChangesNothing checks one of OpenCode")
	testLongSessions(t, schema.HarnessOpenCode)
}

func testLongSessions(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	files := storyFiles(t)
	w := newWorldOf(t, h, suite.Root(t), files)
	w.configure(`{"spending": "generous"}`) // with flat prices, every removal pays at once
	other := w.addProject("other", files)

	options := []opencodetest.Options{w.withFlatPrices(), w.withFlatPrices()}
	options[0].Config["snapshot"] = true // snapshots are on, as they are for users
	options[1].Project = other
	processes, sessions, stories := make([]agent.Agent, len(options)), make([]string, len(options)), make([]*story, len(options))
	var told sync.WaitGroup
	for i, o := range options {
		processes[i] = w.launch(o)
		stories[i] = newStory(o.Project, files, w.tools())
		sessions[i] = w.session(processes[i])
		w.play(sessions[i], stories[i].steps()...)
		told.Go(func() { w.tell(processes[i], sessions[i], stories[i]) })
	}
	told.Wait()
	if t.Failed() {
		return
	}
	var pids []int
	for _, oc := range processes {
		pids = append(pids, oc.Process())
	}
	checkOneHost(t, w, pids...)
	for i, oc := range processes {
		checkToolsRan(t, w, oc, sessions[i])
		w.stop(oc)
	}
	w.stopHost()

	for i, id := range sessions {
		t.Run(options[i].Project, func(t *testing.T) {
			checkStory(t, stories[i], w.requests(id), w.journal(id))
		})
	}
}

func checkStory(t *testing.T, s *story, requests []*mockllm.Request, passes []store.PassRow) {
	t.Helper()
	if len(requests) != len(s.steps()) {
		t.Fatalf("%d requests for %d steps", len(requests), len(s.steps()))
	}
	for _, r := range requests {
		checkRequest(t, r)
	}
	checkTags(t, requests)
	checkBusts(t, requests, passes)
	checkCache(t, requests, passes)
	checkDrops(t, s, requests, passes)
}

func checkOneHost(t *testing.T, w *world, pids ...int) {
	t.Helper()
	status, err := w.user.Status(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	var served []int
	for _, c := range status.Clients {
		if c.Harness == w.harness {
			served = append(served, c.PID)
		}
	}
	slices.Sort(served)
	slices.Sort(pids)
	if !slices.Equal(served, pids) {
		t.Errorf("host %d serves processes %v, want %v", status.PID, served, pids)
	}
	if status.Bugs != 0 {
		t.Errorf("the host reports %d bugs", status.Bugs)
	}
}

func checkToolsRan(t *testing.T, w *world, oc agent.Agent, session string) {
	t.Helper()
	failed, err := oc.FailedCalls(w.ctx, session)
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range failed {
		t.Error(call)
	}
}

// Each request must extend the request before it, or its pass must be a bust with a known cause in the journal.
func checkBusts(t *testing.T, requests []*mockllm.Request, passes []store.PassRow) {
	t.Helper()
	if len(passes) != len(requests) {
		t.Errorf("%d requests, but %d passes", len(requests), len(passes))
		return
	}
	for i := 1; i < len(requests); i++ {
		where, ok := extends(requests[i-1], requests[i])
		switch p := passes[i]; {
		case !ok && !p.Bust:
			t.Errorf("request %d (%s) busts the prefix, the journal says no: %s", i, p.Cause, where)
		case ok && p.Bust:
			t.Errorf("request %d extends the one before, the journal calls it a bust (%s)", i, p.BustCause)
		case p.Bust && (p.BustCause == "" || p.BustCause == "unexplained"):
			t.Errorf("request %d is a bust of cause %q", i, p.BustCause)
		}
	}
}

// If a pass is no bust, its request must read everything that the last request left in the cache.
func checkCache(t *testing.T, requests []*mockllm.Request, passes []store.PassRow) {
	t.Helper()
	for i := 1; i < min(len(requests), len(passes)); i++ {
		before, now := requests[i-1].Simulated, requests[i].Simulated
		if left := before.Read + before.Write; !passes[i].Bust && now.Read != left {
			t.Errorf("request %d reads %d tokens from the cache, the one before left %d", i, now.Read, left)
		}
	}
}

// The model asks for drops, and then the prompt reaches the high mark. The first pass of the next turn must bust
// because of this pressure, and apply the drops. All later requests must contain them.
func checkDrops(t *testing.T, s *story, requests []*mockllm.Request, passes []store.PassRow) {
	t.Helper()
	for i, d := range drops {
		effect := s.first[i+1]
		if p := passes[effect]; !p.Bust || p.Cause != "pressure" {
			t.Errorf("pass %d, the first after the pressure, is no bust by it: %s %s", effect, p.Verdict, p.Cause)
		}
		for _, tag := range d.placeholders {
			checkShownUntil(t, requests, tag, effect)
			for _, r := range requests[effect:] {
				if n := strings.Count(string(r.Body), fmt.Sprintf("[dropped §%d§]", tag)); n != 1 {
					t.Errorf("request %d: %d placeholders for §%d§", r.Seq, n, tag)
					break
				}
			}
		}
		if d.shell > 0 {
			checkShownUntil(t, requests, d.shell, effect)
		}
		if d.gone == "" {
			continue
		}
		checkShownUntil(t, requests, d.goneTag, effect)
		for _, r := range requests[effect:] {
			if strings.Contains(string(r.Body), d.gone) {
				t.Errorf("request %d: call %s, dropped as §%d§, is still there", r.Seq, d.gone, d.goneTag)
				break
			}
		}
	}
}

// checkShownUntil fails unless the unit is shown in every request from its first appearance to the one before the
// request with the index `effect`. That request and all later ones must not show it.
func checkShownUntil(t *testing.T, requests []*mockllm.Request, tag, effect int) {
	t.Helper()
	first := slices.IndexFunc(requests, func(r *mockllm.Request) bool { return tagsShown(r)[tag] })
	if first < 0 || first >= effect {
		t.Errorf("§%d§ is not shown before request %d", tag, effect)
		return
	}
	for i := first; i < len(requests); i++ {
		if shown, want := tagsShown(requests[i])[tag], i < effect; shown != want {
			t.Errorf("request %d: §%d§ is shown: %v; its drop takes effect in request %d", i, tag, shown, effect)
			return
		}
	}
}

// The host must not be running when a test calls `journal`.
func (w *world) journal(session string) []store.PassRow {
	w.t.Helper()
	return w.journalOf(w.harness, session)
}

func (w *world) journalOf(h schema.Harness, session string) []store.PassRow {
	w.t.Helper()
	s, err := store.Open(w.ctx, store.Options{Dir: w.user.DataDir, Log: slog.New(slog.DiscardHandler), Clock: clock.System{}})
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	passes, err := s.Reports.Passes(w.ctx, store.Key{Harness: string(h), Session: session}, 0, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return passes
}
