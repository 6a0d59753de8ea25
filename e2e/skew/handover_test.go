package skew

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// handoverSeed selects the moment at which the newer host comes:
//
//	go test ./e2e/skew -run Handover -args -handoverseed=7
var handoverSeed = flag.Uint64("handoverseed", 20261121, "seed of the moment at which the newer host comes")

var files = map[string]string{
	"notes.txt": "the answer is 41\n",
	"plan.md":   strings.Repeat("- ask again\n", 40),
	"main.go":   "package main\n\nfunc main() { println(41) }\n",
}

// With several sessions, some pass, tool or event is always active when the host changes.
func sessionsUnderLoad() int {
	if suite.All() {
		return 3
	}
	return 2
}

const (
	turnsOfSession = 3
	stepsOfTurn    = 5
)

// The provider must receive the same bytes as in a run without a handover, and no prompt may fail.
func TestHandoverUnderLoad(t *testing.T) { testHandoverUnderLoad(t, schema.HarnessOpenCode) }

func TestPiHandoverUnderLoad(t *testing.T) { testHandoverUnderLoad(t, schema.HarnessPi) }

func testHandoverUnderLoad(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	root := suite.Root(t)

	quiet := newWorld(t, h, root)
	seats := quiet.seats(older, "project", sessionsUnderLoad())
	want := quiet.work(seats, func() {})
	quiet.destroy(seats...)
	if t.Failed() {
		return
	}

	w := newWorld(t, h, root)
	seats = w.seats(older, "project", sessionsUnderLoad())
	var next process
	if h == schema.HarnessOpenCode {
		next = w.start(newer, "other") // this process listens, but has not loaded its shim yet
	}
	replaced := make(chan struct{})
	var before schema.StatusResult
	var fresh []session
	random := rand.New(rand.NewPCG(*handoverSeed, 0))
	got := w.work(seats, sync.OnceFunc(func() {
		if h == schema.HarnessPi {
			w.came = make(chan struct{})
		}
		go func() {
			defer close(replaced)
			var err error
			if before, err = w.user.Status(w.ctx); before.Version != older.version {
				t.Errorf("host %q serves before the handover, want %s (%v)", before.Version, older.version, err)
			}
			time.Sleep(time.Duration(random.Int64N(int64(300 * time.Millisecond)))) // the random delay
			if h == schema.HarnessPi {
				next = w.start(newer, "other")
				w.awaitStatus("the newer host", func(s schema.StatusResult) bool { return s.Version == newer.version })
				close(w.came)
			}
			fresh = w.work([]process{next}, func() {})
		}()
	}))
	<-replaced
	if t.Failed() {
		w.destroy(append(seats, next)...)
		return
	}

	after := w.awaitStatus("both clients", func(s schema.StatusResult) bool { return serves(s, append(seats, next)...) })
	if after.Version != newer.version || after.PID == before.PID || after.Bugs != 0 {
		t.Errorf("after the handover host %s (process %d, %d bugs) serves; before it was %s (process %d)",
			after.Version, after.PID, after.Bugs, before.Version, before.PID)
	}
	logs := w.logs()
	w.check(slices.Concat(got, fresh), append(seats, next)...)
	for i, s := range got {
		checkSame(t, want[i].requests, s.requests)
		w.checkServedByBoth(s, after.StartedAt)
	}
	for name, text := range logs {
		if strings.Contains(text, "pass failed") {
			t.Errorf("%s tells of a lost pass:\n%s", name, text)
		}
	}
	if !strings.Contains(logs["host.log"], "release "+newer.version+" takes the place of "+older.version) {
		t.Errorf("the host's log does not say what happened:\n%s", logs["host.log"])
	}
}

// A newer host is running when a client of an older release connects. The newer host must serve the client, which must
// neither end the host nor disturb its sessions.
func TestOlderReleaseJoinsNewerHost(t *testing.T) {
	suite.OnlyWithAll(t, "Pi has this session")
	testOlderReleaseJoinsNewerHost(t, schema.HarnessOpenCode)
}

func TestOlderReleaseOfPiJoinsNewerHost(t *testing.T) {
	testOlderReleaseJoinsNewerHost(t, schema.HarnessPi)
}

func testOlderReleaseJoinsNewerHost(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	w := newWorld(t, h, suite.Root(t))
	seats := w.seats(newer, "project", sessionsUnderLoad()-1)
	old := w.start(older, "other")

	var before schema.StatusResult
	var joined []session
	done := make(chan struct{})
	got := w.work(seats, sync.OnceFunc(func() {
		go func() {
			defer close(done)
			before, _ = w.user.Status(w.ctx)
			joined = w.work([]process{old}, func() {})
		}()
	}))
	<-done
	after := w.awaitStatus("both clients", func(s schema.StatusResult) bool { return serves(s, append(seats, old)...) })
	if after.Version != newer.version || after.PID != before.PID || after.Bugs != 0 {
		t.Errorf("host %d of release %s was to go on: %+v", before.PID, newer.version, after)
	}
	w.check(slices.Concat(got, joined), append(seats, old)...)
}

type session struct {
	id       string
	requests []*mockllm.Request
}

// The method `work` plays all sessions at the same time. In the middle of the first session's second turn, it calls the
// function `midway`.
func (w *world) work(seats []process, midway func()) []session {
	all := make([]session, len(seats))
	for i := range all {
		heard := func(n int) {
			if i == 0 && n == stepsOfTurn+stepsOfTurn/2 {
				midway()
			}
			w.hold(n)
		}
		var err error
		if all[i].id, err = w.session(seats[i], heard, w.steps(seats[i].project, i)...); err != nil {
			w.t.Errorf("create a session: %v", err)
			return nil
		}
	}
	var told sync.WaitGroup
	for i, s := range all {
		told.Go(func() {
			for turn := range turnsOfSession {
				text := fmt.Sprintf("Task %d: look once more.", turn+1)
				if err := seats[i].Send(w.ctx, s.id, opencodetest.Prompt{Text: text}); err != nil {
					w.t.Errorf("session %s, turn %d: %v", s.id, turn+1, err)
					return
				}
			}
		})
	}
	told.Wait()
	midway() // if no session has reached that point, call midway here, because a caller waits for it
	for i := range all {
		all[i].requests = w.requests(all[i].id)
	}
	return all
}

// No step changes a file, so the sessions do not depend on each other.
func (w *world) steps(dir string, n int) (steps []mockllm.Step) {
	names := slices.Sorted(maps.Keys(files))
	for i := range turnsOfSession * stepsOfTurn {
		id := fmt.Sprintf("toolu_%d_%03d", n, i)
		file := filepath.Join(dir, names[i%len(names)])
		switch {
		case i%stepsOfTurn == stepsOfTurn-1:
			steps = append(steps, mockllm.Say(fmt.Sprintf("That was look %d.", i)))
		case i%stepsOfTurn == 4: // this step calls the host itself
			steps = append(steps, mockllm.Call(id, "ctx_reduce", map[string]any{"drop": fmt.Sprint(i/stepsOfTurn + 1)}))
		case i%2 == 0: // this step runs a tool while other sessions have their passes
			tool, input := w.tools().Bash("sleep 0.2; wc -c "+file, "Count")
			steps = append(steps, mockllm.Call(id, tool, input))
		default:
			tool, input := w.tools().Read(file, 0, 0)
			steps = append(steps, mockllm.Step{Blocks: []mockllm.Block{
				mockllm.Thinking(fmt.Sprintf("Look %d.", i), fmt.Sprintf("c2lnbmF0dXJlLSVk%08d", i)),
				mockllm.Text(fmt.Sprintf("Look %d of session %d.", i, n)),
				mockllm.Tool(id, tool, input),
			}})
		}
	}
	return steps
}

// Within a session, each prompt must extend the prompt before it. The journal must have one pass for each prompt.
func (w *world) check(sessions []session, processes ...process) {
	w.t.Helper()
	w.end(processes...)
	if err := w.user.StopHost(w.ctx); err != nil {
		w.t.Error(err)
	}
	for _, s := range sessions {
		if len(s.requests) != turnsOfSession*stepsOfTurn {
			w.t.Errorf("session %s: %d requests for %d steps", s.id, len(s.requests), turnsOfSession*stepsOfTurn)
		}
		for i := range s.requests[1:] {
			checkExtends(w.t, s.requests[i], s.requests[i+1])
		}
		passes := w.journal(s.id)
		if len(passes) != len(s.requests) {
			w.t.Errorf("session %s: %d passes for %d requests", s.id, len(passes), len(s.requests))
		}
		for _, p := range passes {
			if p.Bust {
				w.t.Errorf("session %s, pass %d is a bust: %s", s.id, p.Pass, p.BustCause)
			}
		}
	}
	if w.t.Failed() {
		for name, text := range w.logs() {
			w.t.Logf("%s:\n%s", name, text[max(0, len(text)-3_000):])
		}
	}
}

// The session must have passes before and after the newer host came, or the test has not tested a handover.
func (w *world) checkServedByBoth(s session, cameAt int64) {
	w.t.Helper()
	passes := w.journal(s.id)
	before := slices.IndexFunc(passes, func(p store.PassRow) bool { return p.At >= cameAt })
	if before <= 0 {
		w.t.Errorf("session %s: the older host served %d of %d passes", s.id, before, len(passes))
	}
	w.t.Logf("session %s: handed over after pass %d of %d", s.id, before, len(passes))
}

// The method `hold` delays the answers to a session's last requests until the newer host has come, so that the newer
// host serves the last passes of each session. Without the delay, the sessions might end first, because a Pi process
// has to start the newer host, and Pi itself starts slowly.
func (w *world) hold(request int) {
	const midway, last, pause = stepsOfTurn + stepsOfTurn/2, turnsOfSession*stepsOfTurn - 2, 200 * time.Millisecond
	if w.came == nil || request < midway || request > last {
		return
	}
	var enough <-chan time.Time
	if request < last {
		enough = time.After(pause)
	}
	select {
	case <-w.came:
	case <-enough:
	case <-w.ctx.Done():
	}
}

// checkExtends ignores cache markers.
func checkExtends(t *testing.T, a, b *mockllm.Request) {
	t.Helper()
	for i, block := range a.Blocks {
		if i >= len(b.Blocks) {
			t.Errorf("request %d lacks %s of request %d", b.Seq, block.Where, a.Seq)
			return
		}
		if block.Where != b.Blocks[i].Where || !bytes.Equal(block.JSON, b.Blocks[i].JSON) {
			t.Errorf("request %d busts the prefix of request %d at %s: %.300s\nbecame %s: %.300s",
				b.Seq, a.Seq, block.Where, block.JSON, b.Blocks[i].Where, b.Blocks[i].JSON)
			return
		}
	}
}

func checkSame(t *testing.T, want, got []*mockllm.Request) {
	t.Helper()
	for i := range min(len(want), len(got)) {
		a, b := want[i].Body, got[i].Body
		if bytes.Equal(a, b) {
			continue
		}
		at := 0
		for at < min(len(a), len(b)) && a[at] == b[at] {
			at++
		}
		t.Errorf("request %d differs from that of the quiet run at byte %d:\n got ...%.300s\nwant ...%.300s", i, at, b[max(0, at-100):], a[max(0, at-100):])
		return // all later requests differ as well
	}
}
