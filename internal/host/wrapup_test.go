package host

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/agents/historian/historiantest"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/work"
)

// The function `wrapped` returns a session of 31 turns without compartments, whose historian reads small chunks.
func wrapped(t *testing.T) (*harness, *scriptedHistorian) {
	h, script := scripted(t)
	h.talk(0, 30, 300, 20_000)
	h.user("now", "go on")
	h.pass()
	h.smallChunks(t)
	script.answer = inParts("Sum")
	return h, script
}

func TestWrapUpKeepsTheNewestTurns(t *testing.T) {
	for _, test := range []struct {
		command string
		first   string // the first message of the tail
		last    int    // the last covered message
	}{{"ctx-wrapup", "u028", 56}, {"ctx-wrapup 1", "now", 60}, {"ctx-wrapup 30", "u001", 2}} {
		h, _ := wrapped(t)
		if said := h.command(test.command); !strings.Contains(said, "being summarised") {
			t.Fatalf("%s: %s", test.command, said)
		}
		h.settle()
		rows := h.compartments()
		if n := len(rows); n == 0 || rows[n-1].End != test.last {
			t.Fatalf("%s: compartments %q", test.command, h.texts())
		}
		if m := h.pass(); m.Verdict != schema.Hard || m.Cause != "flush" {
			t.Errorf("%s: %s pass (%s)", test.command, m.Verdict, m.Cause)
		}
		if wire := h.wire(); h.cut != test.last || !strings.Contains(wire, test.first+": ") || !strings.Contains(wire, "Sum of ") {
			t.Errorf("%s: the tail starts after %d messages", test.command, h.cut)
		}
		if n := len(h.shown); n != 1 || !strings.HasPrefix(h.shown[0], "success: ") {
			t.Errorf("%s: notices %q", test.command, h.shown)
		}
	}
}

// If nothing can be dropped, /ctx-flush names a command that frees space.
func TestFlushPointsToWrapUp(t *testing.T) {
	h, _ := wrapped(t)
	if said := h.command("ctx-flush"); !strings.Contains(said, "/ctx-wrapup would free space: it summarises messages 1-56, and keeps the newest 3 turns.") {
		t.Errorf("before the wrap-up: %s", said)
	}
	h.pass()
	h.command("ctx-wrapup")
	h.settle()
	h.pass()
	if said := h.command("ctx-flush"); said != "There is nothing to free now. Old content that the model has not marked goes when the prompt has grown." {
		t.Errorf("after the wrap-up: %s", said)
	}
	h, _ = wrapped(t)
	h.config.Historian.Disable = true
	h.restart()
	h.pass()
	if said := h.command("ctx-flush"); strings.Contains(said, "wrapup") {
		t.Errorf("without a historian: %s", said)
	}
}

// A wrap-up consists of several chunks. The cost of each one must be recorded, and the facts in each one must become
// memories.
func TestWrapUpPublishesEachChunk(t *testing.T) {
	h, script := wrapped(t)
	script.answer = func(p schema.AgentRunParams) (string, error) {
		text, err := inParts("Sum")(p)
		return strings.Replace(text, "<facts></facts>", "<facts><NAMING>\n* ["+historiantest.RangeOf(p.Prompt).String()+"] \"Please do\" begins prompts\n</NAMING></facts>", 1), err
	}
	h.command("ctx-wrapup")
	h.settle()
	runs, err := h.store.Runs.Of(t.Context(), store.HistorianOf(testKey), 0)
	if err != nil || len(runs) < 2 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for _, r := range runs {
		if r.Kind != "wrapup" || r.Status != work.Success || r.Usage.Input != 12_000 {
			t.Errorf("recorded %+v", r)
		}
	}
	var seen int
	if err := h.database().QueryRow(`SELECT sum(seen_count) FROM memories`).Scan(&seen); err != nil || seen != len(runs) {
		t.Errorf("%d facts of %d chunks are kept, %v", seen, len(runs), err)
	}
}

// If the historian fails twice at a chunk, the wrap-up goes on with a shorter chunk. The models have been paid for the
// two rejected answers, so the recorded cost must include them.
func TestWrapUpCountsTheAnswersThatWereNotTaken(t *testing.T) {
	h, script := wrapped(t)
	asked := 0
	script.answer = func(p schema.AgentRunParams) (string, error) {
		if asked++; asked <= 2 { // both the first answer and its repair are bad
			return "too long for me", nil
		}
		return inParts("Sum")(p)
	}
	h.command("ctx-wrapup")
	h.settle()
	runs, err := h.store.Runs.Of(t.Context(), store.HistorianOf(testKey), 0)
	if err != nil || len(runs) < 2 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	var read int
	for _, r := range runs {
		read += r.Usage.Input
	}
	if read != 12_000*asked {
		t.Errorf("%d tokens are recorded, want those of %d answers", read, asked)
	}
}

func TestWrapUpRefusesWhatItCannotDo(t *testing.T) {
	h, _ := wrapped(t)
	for arguments, want := range map[string]string{
		"0": "At least one turn stays", "-1": "Write /ctx-wrapup", "all": "Write /ctx-wrapup", "40": "nothing to summarise", "cancel": "No wrap-up is under way.",
	} {
		if said := h.command("ctx-wrapup " + arguments); !strings.Contains(said, want) {
			t.Errorf("%s: said %q, want %q", arguments, said, want)
		}
	}
	h.restart()
	if said := h.command("ctx-wrapup"); !strings.Contains(said, "Send a message first.") {
		t.Errorf("without messages: %q", said)
	}
}

func TestCancelledWrapUpKeepsItsPublications(t *testing.T) {
	h, script := wrapped(t)
	script.hold()
	h.command("ctx-wrapup")
	first := historiantest.RangeOf((<-script.asked).Prompt)
	script.goOn <- struct{}{}
	<-script.asked
	if said := h.command("ctx-wrapup cancel"); !strings.Contains(said, "The wrap-up ends.") {
		t.Errorf("said %q", said)
	}
	h.settle()
	rows := h.compartments()
	if n := len(rows); n == 0 || rows[n-1].End != first.End {
		t.Errorf("compartments %q, want up to %d", h.texts(), first.End)
	}
	if len(h.shown) != 0 {
		t.Errorf("notices %q", h.shown)
	}
	if m := h.pass(); m.Verdict != schema.Steady {
		t.Errorf("%s pass (%s) after a cancelled wrap-up", m.Verdict, m.Cause)
	}
}

// If the host is killed during a wrap-up, the next host continues after the last publication.
func TestKilledWrapUpGoesOn(t *testing.T) {
	h, script := wrapped(t)
	script.hold()
	h.command("ctx-wrapup")
	<-script.asked
	script.goOn <- struct{}{}
	<-script.asked
	done := h.compartments()
	killed := h.host
	h.restart()
	killed.Stop(t.Context())
	script.asked = nil
	h.pass()
	h.command("ctx-wrapup")
	h.settle()
	rows := h.compartments()
	if d := cmp.Diff(done, rows[:len(done)]); d != "" || rows[len(rows)-1].End != 56 {
		t.Errorf("compartments %q; %s", h.texts(), d)
	}
}

// Other runs publish an extract if the historian keeps failing. A wrap-up does not: the user has asked for summaries,
// and nothing is urgent.
func TestWrapUpByABadHistorianChangesNothing(t *testing.T) {
	h, script := wrapped(t)
	script.answer = func(schema.AgentRunParams) (string, error) { return "", errors.New("401 unauthorized") }
	h.command("ctx-wrapup")
	h.settle()
	if rows := h.compartments(); len(rows) != 0 {
		t.Errorf("compartments %q", h.texts())
	}
	if len(h.shown) != 1 || !strings.Contains(h.shown[0], "stopped at message 1 of 1-56") || !strings.Contains(h.shown[0], "401") || !strings.Contains(h.shown[0], "Nothing was changed.") {
		t.Errorf("notices %q", h.shown)
	}
	if m := h.pass(); m.Verdict != schema.Steady {
		t.Errorf("%s pass (%s) after a failed wrap-up", m.Verdict, m.Cause)
	}
	wantStopped(t, h, "wrap-up of messages 1-56", "401 unauthorized")
}

func wantStopped(t *testing.T, h *harness, errand, reason string) {
	t.Helper()
	h.restart()
	h.pass()
	said := h.command("ctx-status")
	if !strings.Contains(said, "Fault: the "+errand+" stopped") || strings.Count(said, reason) != 1 {
		t.Errorf("/ctx-status says %s", said)
	}
}

func TestEmergencyEndsAWrapUp(t *testing.T) {
	h, script := wrapped(t)
	script.hold()
	h.command("ctx-wrapup")
	<-script.asked
	h.tool("c1", "x", "tool-calls", 62_000)
	if m := h.pass(); m.Verdict != schema.Hard || m.Start == 0 {
		t.Errorf("%s pass (%s), the tail starts at %d", m.Verdict, m.Cause, m.Start)
	}
	h.settle()
	if rows := h.compartments(); len(rows) == 0 || rows[0].MadeBy != chronicle.ByExtraction {
		t.Errorf("compartments %q", h.texts())
	}
	if len(h.shown) != 1 || !strings.Contains(h.shown[0], "nearly full") {
		t.Errorf("notices %q", h.shown)
	}
	wantStopped(t, h, "wrap-up of messages 1-56", "nearly full")
}

func (h *harness) history() *schema.HistoryStatus {
	h.t.Helper()
	st, err := h.host.SessionStatus(h.t.Context(), h, schema.SessionStatusParams{Harness: schema.HarnessOpenCode, Session: testSession})
	if err != nil {
		h.t.Fatal(err)
	}
	return st.History
}

// The status does not wait for the session's lock.
func TestStatusShowsHistory(t *testing.T) {
	h, script := wrapped(t)
	if st := h.history(); st != nil {
		t.Errorf("before any run: %+v", st)
	}
	if said := h.command("ctx-menu"); strings.Contains(said, "cancel") {
		t.Errorf("before any run, the menu says %q", said)
	}
	script.hold()
	h.command("ctx-wrapup")
	first := historiantest.RangeOf((<-script.asked).Prompt)
	script.goOn <- struct{}{}
	<-script.asked
	begun := h.clock.Now()
	h.clock.Advance(3 * time.Minute)
	want := &schema.HistoryRun{Kind: "wrapup", Since: begun, Start: 1, End: 56, Done: first.End}
	if d := cmp.Diff(want, h.history().Running); d != "" {
		t.Error(d)
	}
	if said := h.command("ctx-status"); !strings.Contains(said, "wrap-up of messages 1-56, up to") || !strings.Contains(said, "for 3m") {
		t.Errorf("/ctx-status says\n%s", said)
	}
	if said := h.command("ctx-menu"); strings.Contains(said, "/ctx-recomp cancel") || !strings.Contains(said, "/ctx-wrapup cancel") {
		t.Errorf("beside a wrap-up, the menu says %q", said)
	}
	close(script.goOn)
	h.settle()
	if len(h.shown) != 1 || !strings.HasPrefix(h.shown[0], "success") {
		t.Errorf("notices %q: a chunk before the end is told, and the end", h.shown)
	}
	st := h.history()
	if st.Running != nil || st.Covered != 56 || st.Compartments != len(h.compartments()) || st.Fidelity == 0 || st.RawTokens == 0 {
		t.Errorf("at the end: %+v", st)
	}
	script.asked = nil
	script.answer = func(schema.AgentRunParams) (string, error) { return "", errors.New("401 unauthorized") }
	h.command("ctx-recomp")
	h.settle()
	if st := h.history(); st.Failures != 1 || !strings.Contains(st.LastError, "401") || strings.Contains(st.LastError, "ask magicctx-historian") || st.FailedAt != h.clock.Now() {
		t.Errorf("after a failure: %+v", st)
	}
	if said := h.command("ctx-status"); !strings.Contains(said, "Fault: the recomp of messages 1-56 stopped 0s ago: ") || !strings.Contains(said, "Fault: the historian has failed once, 0s ago. A model is asked again ") || !strings.Contains(said, "History: 6 summaries for ") {
		t.Errorf("/ctx-status says\n%s", said)
	}
}

func TestWrapUpTellsItsProgressOnceAMinute(t *testing.T) {
	h, script := scripted(t)
	h.limits.ContextTokens = 1_000_000
	h.talk(0, 30, 1500, 100_000)
	h.user("now", "go on")
	h.pass()
	h.smallChunks(t)
	script.answer = inParts("Sum")
	answer := script.answer
	script.answer = func(p schema.AgentRunParams) (string, error) {
		h.clock.Advance(25 * time.Second)
		return answer(p)
	}
	h.command("ctx-wrapup")
	h.settle()
	runs, _ := h.store.Runs.Of(t.Context(), store.HistorianOf(testKey), 0)
	if n, most := len(h.shown), len(runs)*25/60+1; len(runs) < 4 || n < 2 || n > most {
		t.Errorf("%d notices of %d chunks: %q", n, len(runs), h.shown)
	}
}
