package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/schema"
)

// The user runs and cancels a wrap-up and a recomp. No message may be lost, and only a bust may change the prefix.
func TestErrands(t *testing.T) {
	suite.OnlyWithAll(t, "Pi has this session")
	testErrands(t, schema.HarnessOpenCode)
}

// The wrap-up summarises the first six turns. Each turn has a prompt and two answers.
const wrappedUp = 6 * 3

func testErrands(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), logFiles())
	e := &errands{}
	e.talk = w.talk(w.launch(w.withHistorian()), "errands", func(r chronicle.Range) mockllm.Step { return e.historian(r) })
	for range 8 {
		e.turn(2)
	}

	e.cancel("ctx-wrapup 2", "ctx-wrapup cancel", "wrapup")
	e.turn(2)
	e.wantHead("after a cancelled wrap-up", 0, "")
	e.wantUnchanged("a cancelled wrap-up")

	e.carryOut("ctx-wrapup 3", "Old") // the session has nine turns
	e.turn(2)
	e.wantHead("after a wrap-up", wrappedUp, "Old")

	e.cancel("ctx-recomp", "ctx-recomp cancel", "recomp")
	e.carryOut("ctx-recomp", "New")
	e.turn(2)
	e.wantHead("before the bust that shows a recomp", wrappedUp, "Old")
	e.wantUnchanged("a recomp")
	e.flush()
	e.turn(2)
	e.wantHead("after a recomp", wrappedUp, "New")

	w.stop(e.agent)
	w.stopHost()
	e.read()
	e.checkHistory()
	e.checkRecord()
}

type errands struct {
	*talk
	// word is the first word of each summary. If word is empty, the historian does not answer. talk.mu guards word.
	word string
}

func (e *errands) historian(r chronicle.Range) mockllm.Step {
	if e.word == "" {
		return mockllm.Step{Hang: true}
	}
	return tellsInPartsOf(e.word)(r)
}

func (e *errands) begin(command, word string) {
	e.t.Helper()
	e.mu.Lock()
	e.word = word
	before := e.asked
	e.mu.Unlock()
	if err := e.agent.Command(e.ctx, e.session, command); err != nil {
		e.t.Fatalf("/%s: %v", command, err)
	}
	e.await("a question to the historian after /"+command, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.asked > before
	})
}

func (e *errands) carryOut(command, word string) {
	e.t.Helper()
	e.begin(command, word)
	e.await("the end of /"+command, func() bool { return e.running() == "" })
}

func (e *errands) cancel(command, cancel, kind string) {
	e.t.Helper()
	abandoned := e.mock.Abandoned()
	e.begin(command, "")
	if got := e.running(); got != kind {
		e.t.Errorf("/%s: the status shows a run of kind %q, want %q", command, got, kind)
	}
	if err := e.agent.Command(e.ctx, e.session, cancel); err != nil {
		e.t.Fatalf("/%s: %v", cancel, err)
	}
	e.wait(abandoned, "the historian's request to end")
	e.await("the end of /"+cancel, func() bool { return e.running() == "" })
}

func (e *errands) running() string {
	e.t.Helper()
	status, err := e.user.Status(e.ctx)
	if err != nil {
		e.t.Fatal(err)
	}
	for _, s := range status.Sessions {
		if s.Session == e.session && s.History != nil && s.History.Running != nil {
			return s.History.Running.Kind
		}
	}
	return ""
}

func (e *errands) await(what string, isSo func() bool) {
	e.t.Helper()
	for deadline := time.Now().Add(time.Minute); !isSo(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			e.t.Fatal("waited in vain for " + what)
		}
	}
}

func (e *errands) wantHead(when string, through int, word string) {
	e.t.Helper()
	r := e.last(e.session)
	head := headOf(r)
	if head.through != through {
		e.t.Fatalf("%s, the head ends at message %d, want %d", when, head.through, through)
	}
	for _, w := range []string{"Old", "New"} {
		if got := strings.Contains(head.baseline+head.delta, w+" of "); got != (w == word) {
			e.t.Errorf("%s, the head shows the summary %q: %v", when, w, got)
		}
	}
	// The session's last message is the answer to this request, so the request cannot contain it.
	if shown, want := len(marksBehind(r, head)), e.messages()-1-through; shown != want {
		e.t.Errorf("%s, the newest request shows %d messages after the head, want %d", when, shown, want)
	}
}

func (e *errands) wantUnchanged(by string) {
	e.t.Helper()
	requests := e.requests(e.session)
	for i := len(requests) - 2; i < len(requests); i++ {
		if where, ok := extends(requests[i-1], requests[i]); !ok {
			e.t.Errorf("%s has changed request %d: %s", by, i, where)
		}
	}
}

func (e *errands) checkRecord() {
	e.t.Helper()
	next := 1
	for _, row := range e.rows {
		if row.Start != next || !strings.HasPrefix(row.Tiers[1], "New of ") {
			e.t.Errorf("the messages %d to %d are summarised as %q, want those from %d on", row.Start, row.End, row.Tiers[1], next)
		}
		next = row.End + 1
	}
	if next != wrappedUp+1 {
		e.t.Errorf("the compartments end at message %d, want %d", next-1, wrappedUp)
	}
	var kinds []string
	for _, r := range e.publishes() {
		kinds = append(kinds, r.Kind)
	}
	if got := strings.Join(kinds, " "); got != "wrapup recomp" {
		e.t.Errorf("the runs that published are %q", got)
	}
}
