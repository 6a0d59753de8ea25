package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// inParts returns a historian that makes one compartment for every ten messages. Each compartment's text begins with
// `word`.
func inParts(word string) func(schema.AgentRunParams) (string, error) {
	return func(p schema.AgentRunParams) (string, error) {
		all := historiantest.RangeOf(p.Prompt)
		var parts []string
		for start := all.Start; start <= all.End; start += 10 {
			r := chronicle.Range{Start: start, End: min(all.End, start+9)}
			parts = append(parts, historiantest.Compartment(r, word+" of "+r.String()))
		}
		return historiantest.Output(parts...), nil
	}
}

type scriptedHistorian struct {
	answer func(schema.AgentRunParams) (string, error)
	// If the channel `asked` is not nil, each question is sent to it. The answer then waits until one of the channels
	// `goOn` and `aborted` is ready.
	asked         chan schema.AgentRunParams
	goOn, aborted chan struct{}
}

func scripted(t *testing.T) (*harness, *scriptedHistorian) {
	script := &scriptedHistorian{}
	h := answering(t, func(p schema.AgentRunParams) (string, error) { return script.answer(p) })
	direct := h.runAgent
	h.runAgent = func(ctx context.Context, p schema.AgentRunParams) (schema.AgentRunResult, error) {
		if script.asked != nil {
			script.asked <- p
			select {
			case <-script.goOn:
			case <-script.aborted:
				return schema.AgentRunResult{Failure: schema.AgentFailure{Reason: "aborted"}}, nil
			}
		}
		return direct(ctx, p)
	}
	h.abortAgent = func(string) { close(script.aborted) }
	return h, script
}

// summarised returns a session whose head shows compartments of ten messages. Their texts begin with "Old".
func summarised(t *testing.T) (*harness, *scriptedHistorian) {
	h, script := scripted(t)
	script.answer = inParts("Old")
	h.talk(0, 30, 300, 20_000)
	h.user("now", "go on")
	h.pass()
	h.command("ctx-wrapup")
	h.settle()
	h.pass()
	want := []string{"Old of 1-10", "Old of 11-20", "Old of 21-30", "Old of 31-40", "Old of 41-50", "Old of 51-56"}
	if d := cmp.Diff(want, h.texts()); d != "" || !strings.Contains(h.wire(), "Old of 1-10") {
		t.Fatalf("to begin with: %s", d)
	}
	h.shown = nil
	return h, script
}

func (h *harness) texts() []string {
	var all []string
	for _, c := range h.compartments() {
		all = append(all, c.Tiers[1])
	}
	return all
}

func (s *scriptedHistorian) hold() {
	s.asked, s.goOn, s.aborted = make(chan schema.AgentRunParams, 8), make(chan struct{}), make(chan struct{})
}

func TestRecompReplacesTheCompartmentsAtTheNextBust(t *testing.T) {
	h, script := summarised(t)
	before := h.texts()
	script.answer = func(p schema.AgentRunParams) (string, error) {
		if !strings.Contains(p.Prompt, "takes no facts") {
			t.Error("the recomp asks for facts, which it throws away")
		}
		return inParts("New")(p)
	}
	wire := h.wire()
	if said := h.command("ctx-recomp"); !strings.Contains(said, "being summarised again") {
		t.Fatalf("said %q", said)
	}
	h.settle()
	var want []string
	for _, title := range before {
		want = append(want, strings.Replace(title, "Old", "New", 1))
	}
	if d := cmp.Diff(want, h.texts()); d != "" {
		t.Fatal(d)
	}
	if n := len(h.shown); n != 1 || !strings.HasPrefix(h.shown[0], "success: ") {
		t.Errorf("notices %q", h.shown)
	}
	h.tool("b1", "x", "tool-calls", 20_000)
	if m := h.pass(); m.Verdict != schema.Steady || !strings.HasPrefix(h.wire(), wire) {
		t.Fatalf("the recomp changed a %s pass (%s)", m.Verdict, m.Cause)
	}
	if said := h.command("ctx-flush"); !strings.HasPrefix(said, "The next request shows the new summaries.") {
		t.Errorf("/ctx-flush says %q", said)
	}
	h.pass()
	if got := h.wire(); !strings.Contains(got, "New of 1-10") || strings.Contains(got, "Old of 1-10") {
		t.Error("the head does not show the new compartments")
	}
	if _, found, err := h.store.History.Staged(t.Context(), testKey); found || err != nil {
		t.Errorf("something is still staged: %v, %v", found, err)
	}
}

func TestPartialRecompLeavesTheOthers(t *testing.T) {
	h, script := summarised(t)
	want := h.texts()
	want[1] = strings.Replace(want[1], "Old", "New", 1)
	script.answer = inParts("New")
	h.command("ctx-recomp 12 - 15")
	h.settle()
	if d := cmp.Diff(want, h.texts()); d != "" {
		t.Error(d)
	}
	runs, err := h.store.Runs.Of(t.Context(), store.HistorianOf(testKey), 1)
	if err != nil || runs[0].Kind != "partial" || runs[0].Status != work.Success || runs[0].Usage.Input == 0 {
		t.Errorf("recorded %+v, %v", runs, err)
	}
}

func TestRecompRefusesImpossibleRequests(t *testing.T) {
	h, script := summarised(t)
	for arguments, want := range map[string]string{
		"all": "Write /ctx-recomp", "5": "Write /ctx-recomp", "9-3": "Messages 9-3 run backwards. Write /ctx-recomp 3-9.", "0-3": "Write /ctx-recomp", "--upgrade": "Write /ctx-recomp",
		"900-950": "not summarised yet", "cancel": "No recomp is under way.",
	} {
		if said := h.command("ctx-recomp " + arguments); !strings.Contains(said, want) {
			t.Errorf("%s: said %q, want %q", arguments, said, want)
		}
	}
	script.hold()
	h.command("ctx-recomp")
	<-script.asked
	for _, line := range []string{"ctx-recomp", "ctx-wrapup"} {
		if said := h.command(line); !strings.Contains(said, "under way") || !strings.Contains(said, "/ctx-recomp cancel") {
			t.Errorf("%s beside a recomp: %q", line, said)
		}
	}
	if said := h.command("ctx-menu"); !strings.Contains(said, "/ctx-recomp cancel") || strings.Contains(said, "/ctx-wrapup cancel") {
		t.Errorf("beside a recomp, the menu says %q", said)
	}
	if said := h.command("ctx-wrapup cancel"); !strings.Contains(said, "No wrap-up") {
		t.Errorf("the wrong errand ends: %q", said)
	}
	h.command("ctx-recomp cancel")
	h.settle()
	h.config.Historian.Disable = true
	h.restart()
	if said := h.command("ctx-recomp"); !strings.Contains(said, "switched off") {
		t.Errorf("without a historian: %q", said)
	}
	if said := newHarness(t).command("ctx-recomp"); !strings.Contains(said, "no request") {
		t.Errorf("without a pass: %q", said)
	}
}

func TestCancelledRecompChangesNothing(t *testing.T) {
	h, script := summarised(t)
	before := h.compartments()
	script.answer = inParts("New")
	h.smallChunks(t)
	script.hold()
	h.command("ctx-recomp")
	<-script.asked
	script.goOn <- struct{}{}
	<-script.asked // the question about the second chunk: the first one is staged
	if st, found, err := h.store.History.Staged(t.Context(), testKey); !found || len(st.Compartments) == 0 || err != nil {
		t.Fatalf("staged %+v, %v, %v", st, found, err)
	}
	if said := h.command("ctx-recomp cancel"); !strings.Contains(said, "The recomp ends.") {
		t.Errorf("said %q", said)
	}
	h.settle()
	if d := cmp.Diff(before, h.compartments()); d != "" {
		t.Error(d)
	}
	if _, found, _ := h.store.History.Staged(t.Context(), testKey); found {
		t.Error("something is still staged")
	}
	if len(h.shown) != 0 {
		t.Errorf("the user was told again: %q", h.shown)
	}
	script.asked = nil
	h.command("ctx-recomp") // the lease is free again
	h.settle()
	if got := h.texts(); !strings.HasPrefix(got[0], "New") {
		t.Errorf("the next recomp did nothing: %q", got)
	}
}

// smallChunks gives the historian a model with a small window, so that a recomp needs several chunks.
func (h *harness) smallChunks(t *testing.T) {
	t.Helper()
	h.config.Historian.Model = "small/model"
	h.host.clients.SetLimits(h, schema.Model{Provider: "small", ID: "model"}, schema.ModelLimits{ContextTokens: 16_000})
	h.host.clients.Open(h, schema.InitializeParams{Harness: h.kind, Directory: h.project}, h.config, nil)
	h.pass() // this pass makes the session use the new configuration
}

// If the host is killed during a recomp, the next host continues after the finished chunks, even before a first pass.
func TestKilledRecompGoesOn(t *testing.T) {
	h, script := summarised(t)
	before := h.texts()
	script.answer = inParts("New")
	h.smallChunks(t)
	script.hold()
	h.command("ctx-recomp")
	first := <-script.asked
	script.goOn <- struct{}{}
	<-script.asked
	staged, _, err := h.store.History.Staged(t.Context(), testKey)
	if err != nil {
		t.Fatal(err)
	}
	killed := h.host
	h.restart()
	killed.Stop(t.Context())
	script.asked = nil
	var asked []chronicle.Range
	script.answer = func(p schema.AgentRunParams) (string, error) {
		asked = append(asked, historiantest.RangeOf(p.Prompt))
		return inParts("New")(p)
	}
	if d := cmp.Diff(before, h.texts()); d != "" {
		t.Fatalf("the killed recomp has changed history: %s", d)
	}
	if said := h.command("ctx-recomp 1-10"); !strings.Contains(said, "unfinished recomp waits") {
		t.Errorf("another range: %q", said)
	}
	h.pass() // the reverted messages come back
	if said := h.command("ctx-recomp"); !strings.Contains(said, "goes on") {
		t.Errorf("said %q", said)
	}
	h.settle()
	if next := staged.Compartments[len(staged.Compartments)-1].End + 1; len(asked) == 0 || asked[0].Start != next || next == historiantest.RangeOf(first.Prompt).Start {
		t.Errorf("asked for %v, want from %d on", asked, next)
	}
	if got := h.texts(); slices.ContainsFunc(got, func(s string) bool { return !strings.HasPrefix(s, "New") }) || chronicle.LastKey(h.compartments()[len(got)-1].Keys) == "" {
		t.Errorf("compartments %q", got)
	}
}

func TestRecompByABadHistorianKeepsTheOldCompartments(t *testing.T) {
	for name, answer := range map[string]func(schema.AgentRunParams) (string, error){
		"garbage": func(schema.AgentRunParams) (string, error) { return "<<<>>> no", nil },
		"error":   func(schema.AgentRunParams) (string, error) { return "", errors.New("401 unauthorized") },
	} {
		t.Run(name, func(t *testing.T) {
			h, script := summarised(t)
			before := h.compartments()
			script.answer = answer
			h.command("ctx-recomp")
			h.settle()
			if d := cmp.Diff(before, h.compartments()); d != "" {
				t.Error(d)
			}
			if len(h.shown) != 1 || !strings.HasPrefix(h.shown[0], "warning: The recomp stopped at message 1 of 1-") || !strings.Contains(h.shown[0], "The old summaries stay.") {
				t.Errorf("notices %q", h.shown)
			}
			sum, err := h.store.History.Summary(t.Context(), testKey)
			if err != nil || sum.LastError == "" || sum.LastRun.Kind != "recomp" || sum.LastRun.Status != work.Failed {
				t.Errorf("recorded %+v, %v", sum, err)
			}
		})
	}
}

// Passes continue during a recomp. But if the prompt reaches 80 % during the recomp, the historian has to summarise new
// messages first, so the recomp stops. Its finished chunks stay, and /ctx-recomp continues it.
func TestPassesGoOnDuringARecomp(t *testing.T) {
	h, script := summarised(t)
	h.smallChunks(t)
	script.hold()
	script.answer = inParts("New")
	h.command("ctx-recomp")
	<-script.asked
	h.tool("c1", "x", "stop", 20_000)
	h.user("c2", "go on")
	if m := h.pass(); m.Verdict != schema.Steady {
		t.Errorf("%s pass (%s)", m.Verdict, m.Cause)
	}
	script.goOn <- struct{}{}
	<-script.asked
	if st := h.history(); st.Unfinished != nil || st.Running == nil || st.Running.Kind != "recomp" || st.Running.Done == 0 {
		t.Errorf("status of a recomp under way: %+v", st)
	}
	h.tool("c3", "x", "tool-calls", 53_000) // 83 %
	h.pass()
	h.settle()
	if st := h.history(); st.Running != nil || st.Unfinished == nil || st.Unfinished.End != 56 || st.Unfinished.Done == 0 {
		t.Errorf("status of an unfinished recomp: %+v", st)
	}
	if said := h.command("ctx-status"); !strings.Contains(said, "Historian: an unfinished recomp of messages 1-56, up to ") || !strings.Contains(said, "which /ctx-recomp goes on with") {
		t.Errorf("/ctx-status says\n%s", said)
	}
	if len(h.shown) != 1 || !strings.Contains(h.shown[0], "filling up") || strings.Contains(h.shown[0], "context canceled") {
		t.Errorf("notices %q", h.shown)
	}
	if st, found, _ := h.store.History.Staged(t.Context(), testKey); !found || !strings.HasPrefix(st.Compartments[0].Tiers[1], "New") {
		t.Error("what was done is lost")
	}
}

// Only a revert of a covered message ends the recomp.
func TestRevertDuringARecomp(t *testing.T) {
	h, script := summarised(t)
	script.answer = inParts("New")
	script.hold()
	h.command("ctx-recomp")
	<-script.asked
	h.revertFrom(len(h.messages))
	h.pass()
	if h.host.history.Running(testKey) == nil {
		t.Fatal("a revert of the tail ended the recomp")
	}
	rows := h.compartments()
	h.revertFrom(rows[1].End)
	h.user("anew", "something else")
	h.pass()
	h.settle()
	if d := cmp.Diff([]string{"Old of 1-10"}, h.texts()); d != "" {
		t.Error(d)
	}
	if len(h.shown) != 1 || !strings.Contains(h.shown[0], "taken back") {
		t.Errorf("notices %q", h.shown)
	}
}

func (h *harness) revertFrom(ordinal int) {
	h.messages, h.told = h.messages[:ordinal-1], min(h.told, ordinal-1)
}

// The historian is still running when the user reverts messages that it reads. No compartment exists yet, but the host
// must report the revert to the store anyway. Otherwise, the run would publish a summary of the reverted messages, and
// this summary would hide the new messages.
func TestRevertEndsARunThatReadsTheMessages(t *testing.T) {
	h, script := scripted(t)
	script.answer = inParts("Late")
	h.abortAgent = func(string) {} // the harness does not stop its agent
	script.hold()
	h.talk(0, 20, 950, 40_000)
	h.user("now", "go on")
	h.pass()
	read := historiantest.RangeOf((<-script.asked).Prompt)
	h.revertFrom(read.End - 1)
	for i := range 6 {
		h.user(fmt.Sprintf("n%d", i), "something else")
	}
	h.clock.Advance(time.Second)
	h.pass()
	close(script.goOn) // the run answers only now
	h.settle()
	if got := h.texts(); len(got) != 0 {
		t.Errorf("published %q of messages that are gone", got)
	}
	runs, err := h.store.Runs.Of(t.Context(), store.HistorianOf(testKey), 1)
	if err != nil || len(runs) != 1 || runs[0].Status != work.Noop {
		t.Errorf("recorded %+v, %v", runs, err)
	}
}

// A run loses its lease, but continues to read its messages. Meanwhile, another run summarises the same messages. Then
// the harness compacts the session, so these messages leave the array. If the host took this for a revert, it would
// withdraw the other run's summary.
func TestHiddenMessagesOfALateRunAreNotReverted(t *testing.T) {
	h, script := scripted(t)
	script.answer = inParts("Late")
	h.abortAgent = func(string) {}
	script.hold()
	h.talk(0, 20, 950, 40_000)
	h.user("now", "go on")
	h.pass()
	read := historiantest.RangeOf((<-script.asked).Prompt)
	h.clock.Advance(work.LeaseTerm + time.Second)
	h.publish(testKey, "u000", fmt.Sprintf("a%03d", read.End/2-1), read.End)
	h.flush()
	h.pass()
	kept := h.messages[read.End:]
	h.messages, h.told, h.revision = nil, 0, 0
	h.add(`{"info":{"id":"compaction","sessionID":"ses_1","role":"user","time":{"created":%d}},"parts":[{"id":"p","type":"compaction","auto":false}]}`, h.clock.Now())
	h.add(`{"info":{"id":"compacted","sessionID":"ses_1","role":"assistant","parentID":"compaction","summary":true,"finish":"stop","time":{"created":%d,"completed":%d}},"parts":[{"id":"q","type":"text","text":"All that the harness remembers."}]}`,
		h.clock.Now(), h.clock.Now())
	h.messages = append(h.messages, kept...)
	h.pass()
	close(script.goOn)
	h.settle()
	if got := h.compartments(); len(got) != 1 || got[0].Title != "T" {
		t.Errorf("the summaries are %+v", got)
	}
}

// The run answers before the host can end it.
func TestStoreRefusesSummariesOfRevertedMessages(t *testing.T) {
	h, script := summarised(t)
	script.answer = inParts("More")
	h.abortAgent = func(string) {} // the run holds its lease until its agent answers
	script.hold()
	h.talk(50, 20, 950, 40_000)
	h.user("now2", "go on")
	h.pass()
	read := historiantest.RangeOf((<-script.asked).Prompt)
	_, after, err := h.store.History.Compartments(t.Context(), testKey)
	if err != nil {
		t.Fatal(err)
	}
	holder := ""
	if err := h.database().QueryRow(`SELECT holder FROM agent_work WHERE session_id = ?`, testSession).Scan(&holder); err != nil || holder == "" {
		t.Fatalf("the run holds no lease: %v", err)
	}
	h.revertFrom(read.End)
	h.pass()
	rows := []chronicle.Compartment{{Start: read.Start, End: read.End, Keys: []string{"a", "b"}, Title: "late"}}
	err = h.store.History.Publish(t.Context(), store.Publication{Key: testKey, Holder: holder, After: after, Compartments: rows})
	if !errors.Is(err, work.ErrStale) {
		t.Errorf("error %v", err)
	}
	close(script.goOn)
	h.settle()
	if all := h.compartments(); all[len(all)-1].End >= read.End {
		t.Errorf("compartments %q hold the message %d, which is gone", h.texts(), read.End)
	}
}
