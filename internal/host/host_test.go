package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/marking"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/pipeline/transcript/transcripttest"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

type harness struct {
	t        testing.TB
	kind     schema.Harness
	codec    transcript.Codec // the codec of the harness kind
	dir      string
	project  string // the directory of the session
	clock    *clock.Manual
	config   schema.Config
	store    *store.Store
	host     *Host
	limits   schema.ModelLimits
	messages []json.Value
	revision uint64
	told     int
	lastWire string // the token of the newest request, or "" if the request was sent without the host
	patches  map[string]schema.Patch
	// `head` is the newest head, and `cut` is the number of messages that it covers.
	head        []json.Value
	cut         int
	pinned      []string
	changes     []schema.SessionStatus
	ctx         context.Context // the context of the passes
	limitsAsked func()
	limitsErr   error    // if it is set, the client answers a question for limits with this error
	shown       []string // the notices, each after its variant
	runAgent    func(context.Context, schema.AgentRunParams) (schema.AgentRunResult, error)
	abortAgent  func(run string)
	markers     map[schema.Harness]marking.Markers
	identify    func(ctx context.Context, directory string) (string, error)
}

const testSession = "ses_1"

func newHarness(t testing.TB) *harness {
	t.Helper()
	return newHarnessOf(t, schema.HarnessOpenCode)
}

func newHarnessOf(t testing.TB, kind schema.Harness) *harness {
	t.Helper()
	codec, _ := transcript.CodecOf(string(kind))
	h := &harness{
		t: t, kind: kind, codec: codec, dir: t.TempDir(), project: "/p", clock: clock.NewManual(1_700_000_000_000), config: config.Default(), patches: map[string]schema.Patch{}, ctx: context.Background(),
		// With these prices, reading a token from the cache costs as much as writing it. So every bust pays off, and a
		// test does not have to wait until a bust is worth its price.
		limits: schema.ModelLimits{ContextTokens: 100_000, NPM: "@ai-sdk/anthropic", Price: schema.Price{Fresh: 1, Write: 1, Read: 1}},
	}
	h.config.ProtectedTags = 1
	h.config.Spending = schema.SpendingGenerous                      // most tests are about pressure; rent_test.go is about rent
	h.config.Notices = nil                                           // most tests have a bust, and few are about its notice
	h.config.PreservedThinking = map[string]string{"default": "off"} // the model "m" could be any
	h.start()
	t.Cleanup(h.stop)
	return h
}

// stop ends the host before the test ends. Otherwise, background work could still write to the test's directory.
func (h *harness) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	h.host.Stop(ctx)
	h.store.Close()
}

func (h *harness) start() {
	h.t.Helper()
	var err error
	h.store, err = store.Open(context.Background(), store.Options{Dir: h.dir, Log: slog.New(slog.DiscardHandler), Clock: h.clock})
	if err != nil {
		h.t.Fatal(err)
	}
	h.host = New(Options{
		Store: h.store, Clock: h.clock, Log: slog.New(slog.DiscardHandler), Markers: h.markers,
		LoadConfig: func(schema.Harness, string) (schema.Config, []config.Warning) { return h.config, nil },
		Summarises: h.runAgent != nil, Identify: h.identify,
	})
	if _, err := h.host.Initialize(context.Background(), h, schema.InitializeParams{Harness: h.kind, Directory: "/p"}); err != nil {
		h.t.Fatal(err)
	}
}

func bothHarnesses(t *testing.T, run func(t *testing.T, kind schema.Harness)) {
	t.Helper()
	for _, kind := range schema.Harnesses {
		t.Run(string(kind), func(t *testing.T) { run(t, kind) })
	}
}

func (h *harness) key(session string) store.Key {
	return store.Key{Harness: string(h.kind), Session: session}
}

func (h *harness) restart() {
	h.store.Close()
	h.start()
}

func (h *harness) ModelLimits(context.Context, schema.ModelLimitsParams) (schema.ModelLimits, error) {
	if h.limitsAsked != nil {
		h.limitsAsked()
	}
	return h.limits, h.limitsErr
}

func (h *harness) Show(_ context.Context, p schema.NotifyShowParams) error {
	h.shown = append(h.shown, p.Variant+": "+p.Message)
	return nil
}

func (h *harness) RunAgent(ctx context.Context, p schema.AgentRunParams) (schema.AgentRunResult, error) {
	return h.runAgent(ctx, p)
}

func (h *harness) AbortAgent(_ context.Context, p schema.AgentAbortParams) error {
	h.abortAgent(p.Run)
	return nil
}

func (h *harness) SessionChanged(status []byte) {
	var st schema.SessionStatus
	if err := json.Unmarshal(status, &st); err != nil {
		h.t.Error(err)
	}
	h.changes = append(h.changes, st)
}

func (h *harness) heard() []schema.SessionStatus {
	h.host.background.Wait()
	return h.changes
}

// The message has OpenCode's form. The method `add` converts it to the form of the test's harness.
func (h *harness) add(format string, args ...any) {
	h.messages = append(h.messages, h.inFormat(json.Value(fmt.Sprintf(format, args...))))
}

func (h *harness) inFormat(message json.Value) json.Value {
	switch h.kind {
	case schema.HarnessOpenCode:
		return message
	case schema.HarnessPi:
		step, err := transcripttest.ToPi(message)
		if err != nil {
			h.t.Fatal(err)
		}
		return step
	case schema.HarnessOpenCode2:
		step, err := transcripttest.ToOpenCode2(message)
		if err != nil {
			h.t.Fatal(err)
		}
		return step
	}
	h.t.Fatalf("no translation of messages for %s", h.kind)
	return nil
}

// Only the messages of OpenCode 1 name their model.
func (h *harness) askedModel() *schema.Model {
	if h.kind == schema.HarnessOpenCode {
		return nil
	}
	return &schema.Model{Provider: "anthropic", ID: "m"}
}

func (h *harness) user(id, text string) {
	h.add(`{"info":{"id":%q,"sessionID":"ses_1","role":"user","time":{"created":%d},"model":{"providerID":"anthropic","modelID":"m"}},`+
		`"parts":[{"id":"p-%s","type":"text","text":%q}]}`, id, h.clock.Now(), id, text)
}

func (h *harness) tool(id, output, finish string, promptTokens int) {
	now := h.clock.Now()
	h.add(`{"info":{"id":%q,"sessionID":"ses_1","role":"assistant","time":{"created":%d,"completed":%d},"providerID":"anthropic","modelID":"m","finish":%q,`+
		`"tokens":{"input":%d,"output":1,"cache":{"read":0,"write":0}}},"parts":[{"id":"p-%s","type":"tool","callID":"c-%s","tool":"read",`+
		`"state":{"status":"completed","input":{"f":%q},"output":%q}}]}`, id, now, now, finish, promptTokens, id, id, id, output)
}

// The method `transform` sends a delta. If the host answers with a resync, it sends the whole array.
func (h *harness) transform() (schema.WireMutation, error) {
	p := schema.TransformParams{Session: testSession, Directory: h.project, Base: h.revision, Keep: h.told, Sent: h.lastWire}
	if p.Base == 0 { // a whole array: the answer holds all patches and the head
		h.patches, h.head = map[string]schema.Patch{}, nil
	}
	m, err := h.send(p)
	if errors.Is(err, client.ErrResync) {
		h.patches, h.head = map[string]schema.Patch{}, nil
		m, err = h.send(schema.TransformParams{Session: testSession, Directory: h.project, Sent: h.lastWire})
	}
	if err != nil {
		return m, err
	}
	h.revision, h.told, h.lastWire = m.Revision, len(h.messages), m.Wire
	h.pinned = m.Pinned
	if h.cut = m.Start; m.Head != nil || m.HeadCleared {
		h.head = m.Head
	}
	for _, key := range m.Cleared {
		delete(h.patches, key)
	}
	for key, patch := range m.Edits {
		h.patches[key] = patch
	}
	return m, nil
}

func (h *harness) send(p schema.TransformParams) (schema.WireMutation, error) {
	var err error
	if p.Messages, err = json.Marshal(h.messages[p.Keep:]); err != nil {
		h.t.Fatal(err)
	}
	p.Model = h.askedModel()
	return h.host.Transform(h.ctx, h, p)
}

func (h *harness) pass() schema.WireMutation {
	h.t.Helper()
	m, err := h.transform()
	if err != nil {
		h.t.Fatal(err)
	}
	return m
}

func (h *harness) wire() string {
	h.t.Helper()
	var b strings.Builder
	var pinned []json.Value
	for _, raw := range h.messages[:h.cut] {
		if slices.Contains(h.pinned, h.codec.Decode(raw).Key) {
			pinned = append(pinned, raw)
		}
	}
	for _, raw := range slices.Concat(h.head, pinned, h.messages[h.cut:]) {
		patched, err := render.Apply(raw, h.patches[h.codec.Decode(raw).Key])
		if err != nil {
			h.t.Fatal(err)
		}
		m := h.codec.Decode(patched)
		w := render.WireMessageOf(&m)
		for _, block := range w.Blocks {
			if block.Kind != render.CallBlock {
				fmt.Fprintf(&b, "%s: %s\n", w.Key, block.Text)
			}
		}
	}
	return b.String()
}

func (h *harness) journal() []store.PassRow {
	h.t.Helper()
	rows, err := h.store.Reports.Passes(context.Background(), store.Key{Harness: "opencode", Session: testSession}, 0, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	return rows
}

func (h *harness) drop(callID, ranges string) string {
	h.t.Helper()
	r, err := h.host.ToolExecute(context.Background(), h, schema.ToolExecuteParams{
		Session: testSession, Directory: "/p", Tool: "ctx_reduce",
		CallID: callID, Args: json.Value(fmt.Sprintf(`{"drop":%q}`, ranges)),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return r.Output
}

// `found` is large enough to be worth dropping.
var found = strings.TrimSpace(strings.Repeat("one ", 30))

func turn(t *testing.T) *harness {
	h := newHarness(t)
	h.beginTurn()
	return h
}

func (h *harness) beginTurn() {
	h.user("u1", "find it")
	h.pass()
	h.tool("a1", found, "tool-calls", 1000)
	h.pass()
	h.tool("a2", "two", "stop", 1000)
	h.user("u2", "thanks")
	h.pass()
}

// A user of Pi can leave a branch and come back to it later, so the host remembers the units of a branch that the
// session has left. If the model asks to drop such a unit, the host must not queue the drop. The unit is not on the
// wire, so the drop would wait forever and free nothing.
func TestPieceOfAnotherBranchNeedsNoDrop(t *testing.T) {
	h := turn(t)
	h.messages = append(h.messages[:1:1], h.messages[3:]...)
	h.revision, h.told = 0, 0
	h.pass()
	if got, want := h.drop("call-1", "2"), "1 needed nothing. Nothing to do."; got != want {
		t.Errorf("reply %q, want %q", got, want)
	}
}

func TestDropIsAppliedAtTheThresholdAndJournalled(t *testing.T) {
	h := turn(t)
	if got := h.drop("call-1", "2"); got != "Marked: 2." {
		t.Fatalf("reply %q", got)
	}
	if m := h.pass(); m.Verdict != schema.Steady {
		t.Fatalf("a queued drop caused a %s pass (%s)", m.Verdict, m.Cause)
	}
	h.tool("a3", "three", "stop", 70_000)
	h.user("u3", "go on")
	m := h.pass()
	if m.Verdict != schema.Soft || m.Cause != "pressure" {
		t.Fatalf("verdict %s (%s)", m.Verdict, m.Cause)
	}
	want := "u1: §1§ find it\na1: [dropped §2§]\na2: §3§ two\nu2: §4§ thanks\na3: §5§ three\nu3: §6§ go on\n"
	if got := h.wire(); got != want {
		t.Errorf("wire:\n%swant:\n%s", got, want)
	}
	rows := h.journal()
	last := rows[len(rows)-1]
	if !last.Bust || last.BustCause != "pressure" || last.EditsAdded != 1 || last.SizeTokens <= 70_000 || last.Pressure != float64(last.SizeTokens)/100_000 {
		t.Errorf("journal: %+v", last)
	}
	for _, r := range rows[:len(rows)-1] {
		if r.Bust {
			t.Errorf("pass %d is journalled as a bust (%s)", r.Pass, r.BustCause)
		}
	}
}

// The host may crash after it has stored a drop, but before the shim has received the reply. Then the shim asks again.
// It must get the same reply, and the drop must not be queued twice.
func TestToolReplyIsTheSameAfterACrash(t *testing.T) {
	h := turn(t)
	first := h.drop("call-1", "2,99")
	if !strings.HasPrefix(first, "Error: there is no 99") {
		t.Fatalf("reply %q", first)
	}
	marked := h.drop("call-2", "2")
	h.restart()
	if again := h.drop("call-2", "2"); again != marked {
		t.Errorf("first %q, again %q", marked, again)
	}
	if other := h.drop("call-3", "2"); other != "1 needed nothing. Nothing to do." {
		t.Errorf("reply %q", other)
	}
}

func TestReduceTellsTheModelItsMistake(t *testing.T) {
	h := turn(t)
	for args, want := range map[string]string{
		`{}`:             `Error: drop must be a string`,
		`{"drop":5}`:     `Error: drop must be a string`,
		`{"drop":"x"}`:   `Error: drop cannot be read: "x" is neither a tag nor a range`,
		`{"drop":"9-7"}`: `runs backwards`,
	} {
		r, err := h.host.ToolExecute(context.Background(), h, schema.ToolExecuteParams{
			Session: testSession, Directory: "/p",
			Tool: "ctx_reduce", CallID: args, Args: json.Value(args),
		})
		if err != nil || !strings.Contains(r.Output, want) {
			t.Errorf("%s: %q, %v; want %q", args, r.Output, err, want)
		}
	}
	if got := h.drop("later", "4"); got != "Marked for later, because among the newest 1: 4." {
		t.Errorf("reply %q", got)
	}
}

// After a failed pass, the wire shows only stored edits.
func TestInvariant13FailOpenPerPass(t *testing.T) {
	h := turn(t)
	h.drop("call-1", "2")
	before := h.wire()
	h.user("u3", "")
	if _, err := h.host.Transform(context.Background(), h, schema.TransformParams{
		Session: testSession, Directory: "/p", Base: h.revision, Keep: h.told,
		Messages: json.Value(`{"not":"an array"}`),
	}); err == nil {
		t.Fatal("a broken attachment was taken")
	}
	h.messages = h.messages[:len(h.messages)-1]
	if got := h.wire(); got != before {
		t.Errorf("the failed pass changed the wire:\n%s", got)
	}
	h.pass()
	if got := h.wire(); got != before {
		t.Errorf("the pass after a failed one changed the wire:\n%s", got)
	}
}

// When the store is back, the session continues.
func TestInvariant13FailClosedOnStorage(t *testing.T) {
	h := turn(t)
	h.store.Close()
	h.user("u3", "more")
	if _, err := h.transform(); err == nil {
		t.Fatal("a pass went through without a store")
	}
	h.start()
	h.pass()
	if got := h.wire(); !strings.HasSuffix(got, "u3: §5§ more\n") {
		t.Errorf("after the store came back:\n%s", got)
	}
}

func TestGuidanceIsAddedOnceAndReplayed(t *testing.T) {
	h := turn(t)
	system := func(parts ...string) []string {
		t.Helper()
		r, err := h.host.System(context.Background(), h, schema.SystemParams{Session: testSession, Directory: "/p", System: parts})
		if err != nil {
			t.Fatal(err)
		}
		return r.System
	}
	first := system("You are an agent.\nToday's date: Mon Jan 1 2026\nBe kind.")
	if len(first) != 1 || strings.Count(first[0], "## Magic Context") != 1 || !strings.Contains(first[0], "ctx_reduce") {
		t.Fatalf("system prompt: %q", first)
	}
	if again := system(first...); strings.Count(strings.Join(again, "\n"), "## Magic Context") != 1 {
		t.Errorf("guidance was added twice")
	}
	next := system("You are an agent.\nToday's date: Tue Jan 2 2026\nBe kind.")
	if next[0] != first[0] {
		t.Errorf("midnight changed the prompt: %q", next[0])
	}
	h.restart()
	h.pass()
	if next = system("You are an agent.\nToday's date: Tue Jan 2 2026\nBe kind."); next[0] != first[0] {
		t.Errorf("a restart forgot the date: %q", next[0])
	}
	if title := system("You are a title generator. You output ONLY a thread title."); title != nil {
		t.Errorf("the title request got %q", title)
	}
}

// Defect C6 (docs/defects.md): a new date and another change together cost only one bust.
func TestDefectC6DateChangesTogetherWithAnotherChange(t *testing.T) {
	h := newHarness(t)
	h.user("u1", "find it")
	h.pass()
	h.ask("A\nToday's date: 1")
	h.tool("a1", found, "tool-calls", 1000)
	h.pass()
	if got := h.ask("B\nToday's date: 2"); got != "B\nToday's date: 2" {
		t.Errorf("the date stayed behind: %q", got)
	}
	for range 3 {
		h.pass()
		h.ask("B\nToday's date: 2")
	}
	busts := 0
	for _, r := range h.journal() {
		if r.Bust {
			busts++
			if r.BustCause != "system-changed" {
				t.Errorf("cause %q", r.BustCause)
			}
		}
	}
	if busts != 1 {
		t.Errorf("%d busts, want 1", busts)
	}
}

func TestUsageIsJournalledWithItsPass(t *testing.T) {
	h := turn(t)
	event := `{"type":"message.updated","properties":{"sessionID":"ses_1","info":{"id":"a9","role":"assistant","time":{"created":1,"completed":2},` +
		`"tokens":{"input":5,"output":1,"cache":{"read":900,"write":70}}}}}`
	for range 2 { // OpenCode reports a step more than once
		if _, err := h.host.Event(context.Background(), h, schema.EventParams{Directory: "/p", Event: json.Value(event)}); err != nil {
			t.Fatal(err)
		}
	}
	rows := h.journal()
	if got := rows[len(rows)-1].Usage; got == nil || *got != (store.Usage{Input: 5, CacheRead: 900, CacheWrite: 70}) {
		t.Errorf("usage %+v", got)
	}
	st, err := h.host.SessionStatus(context.Background(), h, schema.SessionStatusParams{Harness: "opencode", Session: testSession})
	if err != nil || st.CacheRead != 900 || st.InputTokens != 975 || st.ContextTokens != 100_000 {
		t.Errorf("status %+v, %v", st, err)
	}
}

func TestFlushBustsInTheMiddleOfATurn(t *testing.T) {
	h := turn(t)
	h.drop("call-1", "2")
	if _, err := h.host.CommandExecute(context.Background(), h, schema.CommandExecuteParams{Session: testSession, Command: "ctx-flush"}); err != nil {
		t.Fatal(err)
	}
	h.restart() // the request for a bust survives a restart
	h.tool("a3", "three", "tool-calls", 1000)
	if m := h.pass(); m.Verdict != schema.Soft || m.Cause != "flush" || !strings.Contains(h.wire(), "[dropped §2§]") {
		t.Fatalf("verdict %s (%s)\n%s", m.Verdict, m.Cause, h.wire())
	}
	h.tool("a4", "four", "tool-calls", 1000)
	if m := h.pass(); m.Verdict != schema.Steady {
		t.Errorf("the flush came twice: %s (%s)", m.Verdict, m.Cause)
	}
}

func TestOtherHarnessIsRefusedByName(t *testing.T) {
	h := newHarness(t)
	_, err := h.host.Initialize(context.Background(), h, schema.InitializeParams{Harness: "emacs"})
	if err == nil || !strings.Contains(err.Error(), `"emacs"`) {
		t.Errorf("error %v", err)
	}
}

func TestSubscriberHearsOfEachPassOfItsSession(t *testing.T) {
	h := turn(t)
	for _, session := range []string{testSession, "ses_other"} {
		if _, err := h.host.Subscribe(context.Background(), h, schema.SubscribeParams{Harness: "opencode", Session: session}); err != nil {
			t.Fatal(err)
		}
	}
	h.user("u3", "more")
	h.pass()
	if heard := h.heard(); len(heard) != 1 || heard[0].Passes != 4 || heard[0].LastVerdict != schema.Steady {
		t.Errorf("heard %+v", heard)
	}
	h.host.Disconnected(h)
	h.host.status.Publish(store.Key{Harness: "opencode", Session: testSession})
	if len(h.heard()) != 1 {
		t.Error("a client that left still hears")
	}
}

// Pi's status line shows the size of the newest request, so the host must send a new status when it learns this size.
// Otherwise, the line would show the size of the previous request until the next pass.
func TestSubscriberHearsOfTheUsageOfAnAnswer(t *testing.T) {
	h := turn(t)
	h.user("u3", "more")
	h.pass()
	if _, err := h.host.Subscribe(t.Context(), h, schema.SubscribeParams{}); err != nil {
		t.Fatal(err)
	}
	h.answered("a9", 12_345)
	if heard := h.heard(); len(heard) != 1 || heard[0].InputTokens != 12_345 {
		t.Errorf("heard %+v, want one status with 12,345 tokens", heard)
	}
}

// A screen shows one session at a time. So a subscription with `Only` ends the screen's earlier subscriptions.
// Otherwise, a screen would collect more and more subscriptions during a day.
func TestSubscriptionToOnlyOneSession(t *testing.T) {
	h := turn(t)
	for _, session := range []string{testSession, "ses_other"} {
		if _, err := h.host.Subscribe(t.Context(), h, schema.SubscribeParams{Harness: "opencode", Session: session, Only: true}); err != nil {
			t.Fatal(err)
		}
	}
	h.user("u3", "more")
	h.pass()
	if heard := h.heard(); len(heard) != 0 {
		t.Errorf("heard of a session that is no longer shown: %+v", heard)
	}
}

func TestStatusOfASessionHasThePanel(t *testing.T) {
	h := remembering(t)
	if _, err := h.host.Subscribe(t.Context(), h, schema.SubscribeParams{Harness: "opencode", Session: testSession, Only: true}); err != nil {
		t.Fatal(err)
	}
	h.answered("a9", 12_345)
	heard := h.heard()
	if len(heard) != 1 {
		t.Fatalf("heard %d times", len(heard))
	}
	asked, err := h.host.SessionStatus(t.Context(), h, schema.SessionStatusParams{Harness: "opencode", Session: testSession})
	if err != nil {
		t.Fatal(err)
	}
	for name, st := range map[string]schema.SessionStatus{"told": heard[0], "asked": asked} {
		if st.Panel == nil || !strings.HasPrefix(st.Panel.Size, "12.3k of ") || st.Memories != 1 {
			t.Errorf("%s: %d memories, panel %+v", name, st.Memories, st.Panel)
			continue
		}
		sum, sources := int64(0), ""
		for _, part := range st.Panel.Parts {
			sum += part.Tokens
			sources += part.Source + " "
		}
		if sum != 12_345 || !strings.Contains(sources, "summaries memories conversation ") {
			t.Errorf("%s: %d tokens of %s", name, sum, sources)
		}
	}
	all, err := h.host.Status(t.Context(), h, schema.StatusParams{})
	if err != nil || all.Sessions[0].Panel != nil {
		t.Errorf("the list has panels (%v)", err)
	}
}

// Fixed bug: if the host added no guidance to the system prompt, for example because of skip_signatures, the bar of
// sources did not show the system prompt at all.
func TestPanelNamesASystemPromptWithoutGuidance(t *testing.T) {
	h := newHarness(t)
	h.user("u1", "hello")
	h.pass()
	prompt := "You are terse. <!-- magic-context: skip -->" + strings.Repeat(" Answer in one word.", 100)
	if r, err := h.host.System(t.Context(), h, schema.SystemParams{Session: testSession, Directory: "/p", System: []string{prompt}}); err != nil || r.System != nil {
		t.Fatalf("the prompt became %q, %v", r.System, err)
	}
	h.answered("a1", 12_345)
	st, err := h.host.SessionStatus(t.Context(), h, schema.SessionStatusParams{Harness: "opencode", Session: testSession})
	if err != nil || st.Panel == nil || st.Panel.Parts[0].Source != "system" || st.Panel.Parts[0].Tokens < 400 {
		t.Errorf("the panel is %+v, %v", st.Panel, err)
	}
}

// An array of two million numbers takes 4 kB in a compressed trace. If the host read the numbers as messages, they
// would take 6 GB of memory.
func TestArrayWithTooManyMessagesIsRefused(t *testing.T) {
	h := newHarness(t)
	h.user("u1", "hello")
	h.pass()
	_, err := h.host.Transform(h.ctx, h, schema.TransformParams{
		Session: testSession, Directory: "/p", Messages: json.Value("[" + strings.Repeat("0,", schema.MaxMessages) + "0]"),
	})
	if err == nil || !strings.Contains(err.Error(), "200001 messages, and at most 200000") {
		t.Errorf("error %v", err)
	}
	h.user("u2", "hello again")
	h.pass() // the session continues
}

// A message with five million empty parts takes 17 kB in a compressed trace. It once took 5 GB of the host's memory.
func TestMessageWithTooManyPartsIsRefused(t *testing.T) {
	h := newHarness(t)
	h.user("u1", "hello")
	h.pass()
	many := "[" + strings.Repeat("{},", schema.MaxParts) + "{}]"
	for _, message := range []string{
		`{"info":{"id":"m1","role":"user"},"parts":` + many + `}`,
		`{"id":"m1","message":{"role":"assistant"},"results":` + many + `}`,
		`{"id":"m1","message":{"role":"user","content":` + many + `}}`,
	} {
		_, err := h.host.Transform(h.ctx, h, schema.TransformParams{Session: testSession, Directory: "/p", Messages: json.Value("[" + message + "]")})
		_, exportErr := h.host.SessionExport(h.ctx, h, schema.SessionExportParams{Harness: h.kind, Session: "ses_fork", Directory: "/p", Messages: json.Value("[" + message + "]")})
		for _, err := range []error{err, exportErr} {
			if err == nil || !strings.Contains(err.Error(), "message 1 of the array has 20001 parts, and at most 20000") {
				t.Errorf("%.60s: error %v", message, err)
			}
		}
	}
	h.user("u2", strings.Repeat(`{"parts":[{},{}]},`, schema.MaxParts)) // a text is one part, even if it looks like many parts
	h.pass()                                                            // the session continues
}
