package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/mode"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// A piSession plays the shim of Pi. It connects to the same host as the embedded harness, on a second connection.
type piSession struct {
	*harness
	id       string
	model    schema.Model
	steps    []json.Value
	revision uint64
	told     int
	sent     string
	patches  map[string]schema.Patch
}

func newPi(t *testing.T) *piSession {
	t.Helper()
	return openPi(t, newHarness(t), testSession)
}

func openPi(t *testing.T, h *harness, id string) *piSession {
	t.Helper()
	p := &piSession{harness: h, id: id, model: schema.Model{Provider: "anthropic", ID: "m"}, patches: map[string]schema.Patch{}}
	p.initialize()
	return p
}

func (p *piSession) initialize() {
	p.t.Helper()
	_, err := p.host.Initialize(p.t.Context(), p, schema.InitializeParams{Harness: schema.HarnessPi, Directory: "/p"})
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *piSession) restart() {
	p.t.Helper()
	p.harness.restart()
	p.initialize()
}

func (p *piSession) add(format string, args ...any) {
	p.steps = append(p.steps, json.Value(fmt.Sprintf(format, args...)))
}

func (p *piSession) user(text string) {
	now := p.clock.Now()
	p.add(`{"id":"user:%d","message":{"role":"user","content":[{"type":"text","text":%q}],"timestamp":%d}}`, now, text, now)
	p.clock.Advance(time.Second)
}

func (p *piSession) call(id, output string, promptTokens int) {
	now := p.clock.Now()
	p.add(`{"id":"assistant:%d","message":{"role":"assistant","content":[{"type":"thinking","thinking":"why %s","thinkingSignature":"sig-%s"},{"type":"toolCall","id":%q,"name":"read","arguments":{"path":%q}}],`+
		`"provider":"anthropic","model":"m","usage":{"input":%d},"stopReason":"toolUse","timestamp":%d},"results":[{"toolCallId":%q,"content":[{"type":"text","text":%q}],"isError":false,"timestamp":%d}]}`,
		now, id, id, id, id, promptTokens, now, id, output, now)
	p.clock.Advance(time.Second)
}

func (p *piSession) answer(text string, promptTokens int) {
	now := p.clock.Now()
	p.add(`{"id":"assistant:%d","message":{"role":"assistant","content":[{"type":"text","text":%q}],"provider":"anthropic","model":"m","usage":{"input":%d},"stopReason":"stop","timestamp":%d}}`,
		now, text, promptTokens, now)
	p.clock.Advance(time.Second)
}

func (p *piSession) pass() schema.WireMutation {
	p.t.Helper()
	params := schema.TransformParams{Session: p.id, Directory: "/p", Base: p.revision, Keep: p.told, Sent: p.sent, Model: &p.model}
	m, err := p.ask(params)
	if errors.Is(err, client.ErrResync) {
		p.patches = map[string]schema.Patch{}
		params.Base, params.Keep = 0, 0
		m, err = p.ask(params)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.revision, p.told, p.sent = m.Revision, len(p.steps), m.Wire
	for _, key := range m.Cleared {
		delete(p.patches, key)
	}
	for key, patch := range m.Edits {
		p.patches[key] = patch
	}
	return m
}

func (p *piSession) ask(params schema.TransformParams) (schema.WireMutation, error) {
	raw, err := json.Marshal(p.steps[params.Keep:])
	if err != nil {
		p.t.Fatal(err)
	}
	params.Messages = raw
	return p.host.Transform(p.t.Context(), p, params)
}

func (p *piSession) wire() []string {
	p.t.Helper()
	var wire []string
	for _, raw := range p.steps {
		patched, err := render.Apply(raw, p.patches[transcript.Pi{}.Decode(raw).Key])
		if err != nil {
			p.t.Fatal(err)
		}
		wire = append(wire, string(patched))
	}
	return wire
}

func (p *piSession) thinks() (places []int) {
	for i, raw := range p.wire() {
		if strings.Contains(raw, "thinkingSignature") {
			places = append(places, i)
		}
	}
	return places
}

func (p *piSession) system(prompt string) string {
	p.t.Helper()
	r, err := p.host.System(p.t.Context(), p, schema.SystemParams{Session: p.id, Directory: "/p", Model: p.model, System: []string{prompt}})
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.Join(r.System, "\n")
}

func (p *piSession) event(format string, args ...any) {
	p.t.Helper()
	_, err := p.host.Event(p.t.Context(), p, schema.EventParams{Session: p.id, Directory: "/p", Event: json.Value(fmt.Sprintf(format, args...)), Sent: p.sent})
	if err != nil {
		p.t.Fatal(err)
	}
}

func TestPiSession(t *testing.T) {
	p := newPi(t)
	before := p.system("You are Pi.\nCurrent date: 2026-11-22")
	if !strings.Contains(before, "## Magic Context") || !strings.Contains(before, "ctx_reduce") {
		t.Errorf("before the first pass the model reads %q", before)
	}
	p.user("find it")
	if m := p.pass(); m.Verdict != schema.Hard || m.Cause != "first-pass" {
		t.Errorf("first pass: %s (%s)", m.Verdict, m.Cause)
	}
	p.call("c1", "one", 1000)
	p.call("c2", "two", 1100)
	if m := p.pass(); m.Verdict != schema.Steady {
		t.Errorf("second pass: %s (%s)", m.Verdict, m.Cause)
	}
	wire := p.wire()
	for i, want := range []string{`"text":"§1§ find it"`, `"text":"§2§ one"`, `"text":"§3§ two"`} {
		if !strings.Contains(wire[i], want) {
			t.Errorf("step %d shows no %s: %s", i, want, wire[i])
		}
	}
	if after := p.system("You are Pi.\nCurrent date: 2026-11-22"); after != before {
		t.Errorf("the system prompt became %q", after)
	}
	drop := schema.ToolExecuteParams{Session: p.id, Directory: "/p", Tool: mode.ReduceTool, CallID: "c3", Args: json.Value(`{"drop":"2"}`)}
	if r, err := p.host.ToolExecute(t.Context(), p, drop); err != nil || !strings.Contains(r.Output, "2") {
		t.Errorf("ctx_reduce: %q, %v", r.Output, err)
	}
	p.answer("there", 1200)
	p.user("go on")
	p.clock.Advance(2 * time.Hour)
	if m := p.pass(); m.Verdict != schema.Hard || m.Cause != "idle" {
		t.Errorf("after a pause: %s (%s)", m.Verdict, m.Cause)
	}
	if got := p.wire()[1]; !strings.Contains(got, "[dropped §2§]") || strings.Contains(got, `"one"`) {
		t.Errorf("the dropped result is %s", got)
	}
	wire = p.wire()
	p.restart()
	p.pass()
	if !slices.Equal(wire, p.wire()) {
		t.Error("a restart changed the wire")
	}
	p.event(`{"type":"session_info_changed","name":"Find it"}`)
	if row, _, err := p.store.Reports.Session(t.Context(), p.key()); err != nil || row.Title != "Find it" {
		t.Errorf("title %q, %v", row.Title, err)
	}
}

func TestPiTextComplete(t *testing.T) {
	p := newPi(t)
	p.user("find it")
	p.pass()
	r, err := p.host.TextComplete(t.Context(), p, schema.TextCompleteParams{Session: p.id, Text: "§1§ done", Message: "assistant:1", Sent: p.sent})
	if err != nil || r.Text != "done" {
		t.Errorf("%q, %v", r.Text, err)
	}
}

// Both sessions have the same id.
func TestPiAndOpenCodeDoNotMix(t *testing.T) {
	h := newHarness(t)
	p := openPi(t, h, testSession)
	h.user("u1", "in OpenCode")
	if _, err := h.transform(); err != nil {
		t.Fatal(err)
	}
	h.tool("a1", "out", "tool-calls", 2000)
	p.user("in Pi")
	if m := p.pass(); m.Cause != "first-pass" {
		t.Errorf("Pi's first pass: %s", m.Cause)
	}
	for range 3 {
		p.call(fmt.Sprint("c", len(p.steps)), "out", 1000)
		p.pass()
		if _, err := h.transform(); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.wire()[3]; !strings.Contains(got, "§4§ out") {
		t.Errorf("Pi's tags go on with %s", got)
	}
	status, err := h.host.Status(t.Context(), h, schema.StatusParams{})
	if err != nil || len(status.Sessions) != 2 {
		t.Errorf("%d sessions, %v", len(status.Sessions), err)
	}
	edits, err := h.host.SessionStatus(t.Context(), h, schema.SessionStatusParams{Harness: schema.HarnessOpenCode, Session: testSession})
	if err != nil || edits.Units != 2 {
		t.Errorf("OpenCode's session has %d units, %v", edits.Units, err)
	}
}

func TestPiModelSwitch(t *testing.T) {
	p := newPi(t)
	p.user("find it")
	p.pass()
	p.answer("there", 1000)
	p.model.ID = "another"
	p.user("go on")
	if m := p.pass(); m.Cause != "model-changed" {
		t.Errorf("%s (%s)", m.Verdict, m.Cause)
	}
}

func TestPiEvents(t *testing.T) {
	p := newPi(t)
	p.user("find it")
	p.pass()
	now := p.clock.Now()
	p.event(`{"type":"message_end","message":{"role":"assistant","provider":"anthropic","model":"m","usage":{"input":7,"cacheRead":100,"cacheWrite":20},"stopReason":"stop","timestamp":%d}}`, now)
	row, _, err := p.store.Reports.Session(t.Context(), p.key())
	if err != nil || row.CacheRead != 100 || row.CacheWrite != 20 || row.InputTokens != 7 {
		t.Errorf("usage %+v, %v", row, err)
	}
	p.call("c1", strings.Repeat("word ", 4000), 127)
	p.pass()
	p.call("c2", "two", 5000)
	p.pass()
	p.call("c3", "three", 5000)
	p.pass()
	p.answer("there", 5000)
	p.user("go on")
	p.pass()
	p.event(`{"type":"message_end","message":{"role":"assistant","provider":"anthropic","model":"m","stopReason":"error","errorMessage":"400 {\"type\":\"error\",\"error\":{\"message\":\"prompt is too long: 215432 tokens > 200000 maximum\"}}","timestamp":%d}}`, p.clock.Now())
	if row, _, err = p.store.Reports.Session(t.Context(), p.key()); err != nil || row.OverflowAt == 0 || row.OverflowTokens != 215432 {
		t.Errorf("overflow %+v, %v", row, err)
	}
	p.user("rather this")
	if m := p.pass(); m.Cause != "overflow" {
		t.Errorf("after the refusal: %s (%s)", m.Verdict, m.Cause)
	}
}

// In Pi, the time of an answer is the time at which it began. So an answer that comes after a refusal may have an
// earlier time than the refusal. The answer must still end the overflow. Otherwise, one more pass would free space.
func TestPiAnswerAfterARefusalEndsTheOverflow(t *testing.T) {
	p := newPi(t)
	p.call("c1", strings.Repeat("word ", 4000), 127)
	p.answer("there", 5000)
	p.user("go on")
	p.pass()
	row := func() store.SessionSummary {
		row, _, err := p.store.Reports.Session(t.Context(), p.key())
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	refused := p.clock.Now()
	p.clock.Advance(2 * time.Millisecond)
	p.event(`{"type":"message_end","message":{"role":"assistant","provider":"anthropic","model":"m","stopReason":"error","errorMessage":"400 prompt is too long: 215432 tokens > 200000 maximum","timestamp":%d}}`, refused)
	if row().OverflowAt == 0 {
		t.Fatal("the refusal is not recorded")
	}
	p.event(`{"type":"message_end","message":{"role":"assistant","provider":"anthropic","model":"m","usage":{"input":5000},"stopReason":"stop","timestamp":%d}}`, refused+1)
	if at := row().OverflowAt; at != 0 {
		t.Errorf("the overflow of %d outlived the answer of %d", at, refused+1)
	}
}

func bindingPi(t *testing.T) *piSession {
	t.Helper()
	h := newHarness(t)
	h.config.PreservedThinking = map[string]string{"default": "on"}
	h.restart()
	return openPi(t, h, testSession)
}

// Pi's shim asks for the system prompt before the first pass of a turn. If the prompt has changed, that pass begins a
// new preamble, and removes all thinking that is bound to the old prompt.
func TestPiSystemPromptIsThatOfTheTurn(t *testing.T) {
	const opening = "You are Pi."
	for _, isKilled := range []bool{false, true} {
		p := bindingPi(t)
		first := p.system(opening + "\nCurrent date: 1")
		p.user("find it")
		p.pass()
		p.call("c1", "one", 1000)
		p.pass()
		p.answer("there", 1100)
		if got := p.system(opening + "\nCurrent date: 2"); got != first {
			t.Errorf("a new date alone is taken: %q", got)
		}
		p.user("go on")
		if m := p.pass(); m.Verdict != schema.Steady {
			t.Errorf("with the same prompt: %s (%s)", m.Verdict, m.Cause)
		}
		if got := p.thinks(); !slices.Equal(got, []int{1}) {
			t.Errorf("the thinking of %v is sent", got)
		}
		p.answer("again", 1200)
		second := p.system(opening + " Be brief.\nCurrent date: 2")
		if !strings.Contains(second, "Be brief.") || !strings.Contains(second, "date: 2") {
			t.Errorf("another prompt is sent as %q", second)
		}
		if isKilled {
			p.restart()
		}
		p.user("and on")
		if m := p.pass(); m.Verdict != schema.Hard || m.Cause != "preamble-changed" {
			t.Errorf("with another prompt: %s (%s)", m.Verdict, m.Cause)
		}
		if got := p.thinks(); len(got) > 0 {
			t.Errorf("the thinking of %v is sent after another prompt", got)
		}
		p.call("c2", "two", 1300)
		if m := p.pass(); m.Verdict != schema.Steady {
			t.Errorf("and then: %s (%s)", m.Verdict, m.Cause)
		}
		if got := p.thinks(); !slices.Equal(got, []int{len(p.steps) - 1}) {
			t.Errorf("then the thinking of %v is sent", got)
		}
		if got := p.system(opening + " Be brief.\nCurrent date: 2"); got != second {
			t.Errorf("the next turn's prompt is %q", got)
		}
	}
}

func TestPiDateIsRenewedAfterAPause(t *testing.T) {
	for name, p := range map[string]*piSession{"bound": bindingPi(t), "free": newPi(t)} {
		p.system("A\nCurrent date: 1")
		p.user("find it")
		p.pass()
		p.answer("there", 1000)
		p.clock.Advance(25 * time.Hour)
		if got := p.system("A\nCurrent date: 2"); !strings.Contains(got, "date: 2") {
			t.Errorf("%s: on the next day %q", name, got)
		}
		p.user("good morning")
		if m := p.pass(); m.Verdict != schema.Hard {
			t.Errorf("%s: %s (%s)", name, m.Verdict, m.Cause)
		}
		p.answer("there", 1000)
		if got := p.system("A\nCurrent date: 3"); !strings.Contains(got, "date: 2") {
			t.Errorf("%s: a moment later %q", name, got)
		}
	}
}

func changedPi(t *testing.T) *piSession {
	t.Helper()
	p := newPi(t)
	p.system("A")
	p.user("find it")
	p.pass()
	p.answer("there", 1000)
	p.system("B")
	return p
}

// The system prompt changes between two turns. The model does not bind its thinking, so the host sends the new prompt
// at once. The journal must record a bust for the next pass, even if the host restarts before that pass.
func TestPiSystemChangeIsJournalledWithItsPass(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		p := changedPi(t)
		if restarts {
			p.restart()
		}
		p.user("go on")
		p.pass()
		p.answer("done", 1000)
		p.user("and on")
		p.pass()
		rows, err := p.store.Reports.Passes(t.Context(), p.key(), 0, 10)
		if err != nil || len(rows) != 3 || rows[0].Bust || !rows[1].Bust || rows[1].BustCause != pipeline.BustSystem || rows[2].Bust {
			t.Errorf("restarts %v: %+v, %v", restarts, rows, err)
		}
	}
}

// F27: if the pass after a changed prompt cannot be stored, the journal records the bust with the next stored pass.
func TestPiSystemChangeWaitsForAStoredPass(t *testing.T) {
	p := changedPi(t)
	unlock := p.lockDatabase()
	p.user("go on")
	p.pass()
	unlock()
	p.answer("there", 1000)
	p.user("go on")
	p.pass()
	rows, err := p.store.Reports.Passes(t.Context(), p.key(), 0, 10)
	if err != nil || len(rows) != 2 || rows[0].Bust || rows[1].BustCause != pipeline.BustSystem {
		t.Errorf("%+v, %v", rows, err)
	}
}

// The user goes back to an earlier message with /tree. The status must say so. An earlier version blamed a change by
// the harness.
func TestPiGoingBackIsNamed(t *testing.T) {
	p := newPi(t)
	for i := range 3 {
		p.user(fmt.Sprintf("question %d with %s", i, strings.Repeat("words ", 50)))
		p.pass()
		p.answer("an answer", 1000+100*i)
	}
	last := func() string {
		t.Helper()
		st, err := p.host.SessionStatus(t.Context(), p, schema.SessionStatusParams{Harness: schema.HarnessPi, Session: p.id})
		if err != nil || st.LastBust == nil {
			t.Fatalf("%+v, %v", st.LastBust, err)
		}
		return st.LastBust.Words
	}
	p.steps, p.told = p.steps[:2], 2
	p.user("another way")
	if m := p.pass(); m.Verdict != schema.Steady || last() != "you went back" {
		t.Errorf("%s pass (%s), %q", m.Verdict, m.Cause, last())
	}
	p.answer("an answer", 1000)
	p.user("go on")
	p.pass()
	p.answer("an answer", 1000)
	p.steps = []json.Value{json.Value(fmt.Sprintf(`{"id":"compactionSummary:7","message":{"role":"compactionSummary","summary":"nothing","timestamp":%d}}`, p.clock.Now()))}
	p.clock.Advance(time.Second)
	p.told = 0
	p.user("and now?")
	p.pass()
	if got := last(); got != "harness's change" {
		t.Errorf("a compaction is called %q", got)
	}
}

// In Pi, the units of a branch that the user has left stay in the database, because the user may come back. They must
// not count as parts of the prompt. In an earlier version, they did, so a prompt of one short question seemed to be
// full of tool output.
func TestPiPartsOfThePromptAreThoseOfTheBranch(t *testing.T) {
	p := newPi(t)
	parts := func() schema.TokensBySource {
		t.Helper()
		st, err := p.host.SessionStatus(t.Context(), p, schema.SessionStatusParams{Harness: schema.HarnessPi, Session: p.id})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := p.store.Reports.Passes(t.Context(), p.key(), 0, 0)
		if last := rows[len(rows)-1]; err != nil || int64(last.ToolTokens) != st.Tokens.ToolInputs+st.Tokens.ToolResults {
			t.Errorf("%d tokens of tools in the journal, %+v; %v", last.ToolTokens, st.Tokens, err)
		}
		return st.Tokens
	}
	p.user("find it")
	p.pass()
	short := parts()
	p.call("c1", strings.Repeat("word ", 500), 0)
	p.pass()
	long := parts()
	if long.Text != short.Text || long.ToolResults < 500 || long.ToolInputs == 0 {
		t.Fatalf("with a call: %+v", long)
	}
	whole := slices.Clone(p.steps)
	p.steps, p.told = nil, 0
	p.user("find it")
	p.pass()
	if got := parts(); got != short {
		t.Errorf("on another branch: %+v, want %+v", got, short)
	}
	p.restart()
	if got := parts(); got != short {
		t.Errorf("after a restart: %+v, want %+v", got, short)
	}
	p.steps = whole
	p.pass()
	if got := parts(); got != long {
		t.Errorf("back on the first branch: %+v, want %+v", got, long)
	}
}

// In Pi, a fork has the messages of its original, with the same keys. So it must begin with the original's tags, drops
// and thinking. This must work even after a custom message, whose time changes when Pi stores it.
func TestPiForkBeginsLikeItsOriginal(t *testing.T) {
	p := bindingPi(t)
	p.system("A")
	p.add(`{"id":"custom:note:1f","message":{"role":"custom","customType":"note","content":"a note"}}`)
	p.user("find it")
	p.pass()
	p.call("c1", "one", 1000)
	p.pass()
	p.call("c2", "two", 1100)
	p.pass()
	f := openPi(t, p.harness, "fork")
	f.steps = slices.Clone(p.steps)
	if got, want := f.system("A"), p.system("A"); got != want {
		t.Errorf("the fork's prompt is %q", got)
	}
	f.user("another way")
	if m := f.pass(); m.Verdict != schema.Steady {
		t.Errorf("the fork's first pass: %s (%s)", m.Verdict, m.Cause)
	}
	if got := f.wire()[:len(p.steps)]; !slices.Equal(got, p.wire()) {
		t.Errorf("the fork begins with %s\nits original with %s", got, p.wire())
	}
	if got := f.thinks(); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("the fork sends the thinking of %v", got)
	}
}

// If Pi's compaction keeps all messages, it inserts a summary before messages that already have tags. The summary gets
// the newest tag, so the tags are no longer in the order of the messages. A fork must cope with that.
func TestPiForkAfterACompactionBeginsLikeItsOriginal(t *testing.T) {
	p := newPi(t)
	p.user("find it")
	p.pass()
	for i := range 30 {
		p.call(fmt.Sprint("c", i), strings.Repeat("word ", 500), 1000)
		p.pass()
	}
	summary := json.Value(`{"id":"compactionSummary:7","message":{"role":"compactionSummary","summary":"nothing was summarised","timestamp":7}}`)
	p.steps, p.revision, p.told = slices.Insert(p.steps, 0, summary), 0, 0
	p.patches = map[string]schema.Patch{}
	p.pass()
	drop := schema.ToolExecuteParams{Session: p.id, Directory: "/p", Tool: mode.ReduceTool, CallID: "d", Args: json.Value(`{"drop":"2-8"}`)}
	if _, err := p.host.ToolExecute(t.Context(), p, drop); err != nil {
		t.Fatal(err)
	}
	if _, err := p.host.CommandExecute(t.Context(), p, schema.CommandExecuteParams{Session: p.id, Directory: "/p", Command: "ctx-flush"}); err != nil {
		t.Fatal(err)
	}
	p.answer("there", 1000)
	p.user("go on")
	p.pass()
	if strings.Contains(strings.Join(p.wire(), ""), `"id":"c1"`) {
		t.Fatal("the original has dropped nothing")
	}
	f := openPi(t, p.harness, "fork")
	f.steps = slices.Clone(p.steps)
	f.answer("here", 1000)
	f.user("another way")
	f.pass()
	if got := f.wire()[:len(p.steps)]; !slices.Equal(got, p.wire()) {
		t.Errorf("the fork begins with %s\nits original with %s", got, p.wire())
	}
}

func (p *piSession) key() store.Key {
	return store.Key{Harness: string(schema.HarnessPi), Session: p.id}
}
