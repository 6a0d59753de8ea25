package e2e

import (
	"flag"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

// killSeed selects the moments at which the host is killed:
//
//	go test ./e2e -run Killed -args -killseed=7
var killSeed = flag.Uint64("killseed", 20261121, "seed of the moments at which the host is killed")

const (
	kills = 10

	// killWindow is the longest time from a request to the kill. On a quiet machine, a step takes 0.15 s. So the kill
	// may come while the answer arrives, while the tools run, while the events are sent, or during the next pass.
	killWindow = 300 * time.Millisecond
)

// The host is killed at random moments, and starts again each time. The provider must receive the same bytes as without
// the kills.
func TestKilledHostChangesNothing(t *testing.T) {
	suite.OnlyWithAll(t, "Pi has this session, and the fuzzer kills hosts under the shim of OpenCode")
	testKilledHostChangesNothing(t, schema.HarnessOpenCode)
}

func testKilledHostChangesNothing(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	root := suite.Root(t)
	files := storyFiles(t)

	quiet := newWorldOf(t, h, root, files)
	want := quiet.tellAlone(files, nil)
	if t.Failed() {
		return
	}

	rough := newWorldOf(t, h, root, files)
	killer := newKiller(rough, len(newStory(rough.project, files, rough.tools()).steps()))
	got := rough.tellAlone(files, killer)
	if killer.killed != kills {
		t.Errorf("the host was killed %d times, want %d", killer.killed, kills)
	}
	checkNoMessage(t, want)
	checkBodies(t, want, got)
}

func (w *world) tellAlone(files map[string]string, k *killer) []*mockllm.Request {
	w.t.Helper()
	w.configure(`{"spending": "generous"}`) // with flat prices, every removal pays at once
	options := w.withFlatPrices()
	oc := w.launch(options)
	story := newStory(w.project, files, w.tools())
	session := w.session(oc)
	steps := story.steps()
	if k == nil {
		w.play(session, steps...)
		w.tell(oc, session, story)
	} else {
		k.play(session, steps)
		done := make(chan struct{})
		go func() {
			defer close(done)
			k.run()
		}()
		w.tell(oc, session, story)
		close(k.orders)
		<-done
	}
	requests := w.requests(session)
	if k == nil {
		checkToolsRan(w.t, w, oc, session)
		w.stop(oc)
		w.stopHost()
		checkStory(w.t, story, requests, w.journal(session))
	}
	w.destroy(oc)
	return requests
}

// A killer kills the host at random moments, but at most once in a pass. If one pass lost two hosts, the shim would
// give up, and the prompt would be different.
type killer struct {
	w      *world
	random *rand.Rand
	doomed map[int]time.Duration // the delay of the kill after each doomed request
	orders chan order
	late   chan struct{} // closed when the last kill is done
	killed int
}

// An order is a planned kill. The channel `done` is closed when the host is dead.
type order struct {
	request int
	delay   time.Duration
	done    chan struct{}
}

func newKiller(w *world, requests int) *killer {
	k := &killer{w: w, random: rand.New(rand.NewPCG(*killSeed, 0)), orders: make(chan order, kills), doomed: map[int]time.Duration{}}
	// Only every second request can be doomed, so two kills never come in neighbouring steps.
	for _, slot := range k.random.Perm(requests / 2)[:kills] {
		k.doomed[2*slot] = time.Duration(k.random.Int64N(int64(killWindow)))
	}
	return k
}

func (k *killer) play(session string, steps []mockllm.Step) {
	next := 0
	answer := mockllm.InOrder(steps...)
	k.w.mock.AddRule(mockllm.Rule{
		Name:  session,
		Match: func(r *mockllm.Request) bool { return r.Session() == session },
		Answer: func(r *mockllm.Request) mockllm.Step {
			k.arrived(next)
			next++
			return answer(r)
		},
	})
}

// arrived is called when a request arrives, and starts the kill that was planned for it. On a busy machine, the
// previous kill may not be done yet, so arrived first waits for it.
func (k *killer) arrived(request int) {
	if k.late != nil {
		<-k.late
		k.late = nil
	}
	if delay, ok := k.doomed[request]; ok {
		k.late = make(chan struct{})
		k.orders <- order{request, delay, k.late}
	}
}

func (k *killer) run() {
	for o := range k.orders {
		time.Sleep(o.delay) // the random delay
		k.kill(o.request)
		close(o.done)
	}
}

func (k *killer) kill(request int) {
	deadline := time.Now().Add(30 * time.Second)
	for {
		status, err := k.w.user.Status(k.w.ctx)
		if err == nil {
			err = stage.End(k.w.ctx, status.PID, os.Kill)
		}
		switch {
		case err == nil:
			k.w.t.Logf("killed host %d after request %d", status.PID, request)
			k.killed++
			return
		case time.Now().After(deadline):
			k.w.t.Errorf("no host to kill after request %d: %v", request, err)
			return
		}
	}
}
