package pipeline

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	mjson "github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/pipeline/text"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// A world simulates a harness and its host. It runs passes over a raw array, and applies the mutations as the shim
// would. It can restart the host, which then continues from the stored state.
type world struct {
	t        testing.TB
	codec    transcript.Codec
	prefixes bool
	raw      []mjson.Value
	held     int // the number of leading messages of raw that the session already has
	changed  bool
	session  *Session
	store    stored
	patches  map[string]schema.Patch
	head     []mjson.Value
	start    int
	now      int64
	readings Readings
	// If profileOf is nil, readings.Profile stays.
	profileOf func(schema.Model) string
	// If `busy` is true, the store refuses writes. The host keeps the units that it could not store in `unsaved`, which
	// stands for a file, so they survive a crash of the host.
	busy    bool
	unsaved []frozen.Unit
	// If `refuses` is true, the validator refuses the wire of every bust.
	refuses bool
	// `forgot` means that the host was killed while the store was busy. Its unstored bindings are lost, so the next
	// pass may change the prefix.
	forgot bool
	// `sent` is the token of the newest request. It is "" if the harness sent this request without a host.
	sent string
	// bindsOf reports whether a model binds its thinking. If bindsOf is nil, no model does.
	bindsOf func(schema.Model) bool
	// `thought` maps the key of each answer to the prompt for which the model wrote it. If the model binds its
	// thinking, the provider accepts the answer's thinking only after this prompt. isAnswered means that the newest
	// request has an answer.
	thought    map[string]string
	isAnswered bool

	// `decoded` caches decoded messages by their bytes. Without it, each pass would have to decode all messages again.
	decoded map[string]decoded

	witness witness

	notes string

	decision Decision
	result   Wire
	wire     []render.WireMessage // of the last pass; messages without blocks are left out
	previous []render.WireMessage
}

type decoded struct {
	transcript.Message
	wire render.WireMessage
}

func (w *world) decode(raw mjson.Value) decoded {
	d, ok := w.decoded[string(raw)]
	if !ok {
		d.Message = w.codec.Decode(raw)
		d.wire = render.WireMessageOf(&d.Message)
		w.decoded[string(raw)] = d
	}
	return d
}

type stored struct {
	meta    Meta
	counter int
	units   []frozen.Unit
	edits   []frozen.Edit
	queue   []frozen.QueuedDrop
	setup   frozen.Setup
	head    frozen.Head
	bound   map[string]frozen.Binding
}

// bind changes a copy of the map, because a simulated crash restores the earlier map.
func (s *stored) bind(bound []frozen.Binding, lost []string) {
	all := maps.Clone(s.bound)
	if all == nil {
		all = map[string]frozen.Binding{}
	}
	for _, b := range bound {
		all[b.MessageKey] = b
	}
	for _, key := range lost {
		if b, ok := all[key]; ok {
			b.Lost = true
			all[key] = b
		}
	}
	s.bound = all
}

func newWorld(t testing.TB, prefixes bool, protected int) *world {
	return newWorldOf(t, transcript.OpenCode{}, prefixes, protected)
}

func newWorldOf(t testing.TB, codec transcript.Codec, prefixes bool, protected int) *world {
	w := &world{t: t, codec: codec, prefixes: prefixes, patches: map[string]schema.Patch{}, decoded: map[string]decoded{}, now: 1_000_000}
	w.readings = Readings{
		LimitTokens: 100_000, Threshold: 65, TTL: 5 * time.Minute, Route: route.Named("anthropic"), Profile: "anthropic", Gaps: true,
		Knobs: rule.Knobs{ProtectedTags: protected, ReasoningAge: 50, Deduplicate: true, ClampSupersededWrites: true, ClampOldErrors: true, ErrorSteps: 4},
	}
	w.restart()
	return w
}

// restart replaces the host by a new one, which has only the stored state. The client still has its patches, and sends
// the whole array again.
func (w *world) restart() {
	cfg := Config{
		Options:   render.Options{Codec: w.codec, Prefixes: w.prefixes},
		CountText: func(s string) int { return len(s) / 4 }, CountFile: func(string) int { return 1200 },
	}
	if w.session != nil && len(w.session.Unstored()) > 0 {
		w.changed, w.forgot = true, true
	}
	state := frozen.NewState(w.store.counter, slices.Concat(w.store.units, w.unsaved), w.store.edits, w.store.queue)
	state.Setup = w.store.setup
	var compartments []chronicle.Compartment
	if w.readings.History != nil {
		compartments = w.readings.History.Compartments
	}
	state.SetHead(w.store.head, CoveredKeys(w.store.head, compartments))
	state.Bind(slices.Collect(maps.Values(w.store.bound))...)
	w.session = NewSession(cfg, w.store.meta, state)
	w.held = 0
}

func (w *world) resync() { w.held = 0 }

func (w *world) add(messages ...mjson.Value) {
	for _, m := range messages {
		w.raw = append(w.raw, w.inHarness(m))
	}
}

func (w *world) replace(i int, m mjson.Value) {
	w.raw[i] = w.inHarness(m)
	w.held = min(w.held, i)
	w.changed = true
}

func (w *world) queue(tags ...int) {
	for _, tag := range tags {
		d := frozen.QueuedDrop{Tag: tag, QueuedAt: w.now}
		if u := w.session.State.ByTag(tag); u != nil {
			d.Key = u.Key
		}
		if !w.session.State.Queued(tag) {
			w.store.queue = append(w.store.queue, d)
		}
		w.session.State.Enqueue(d)
	}
}

func (w *world) keep(tag int, since int64) {
	u := w.session.State.ByTag(tag)
	if since != 0 && (u.Kept != 0 || u.Covered || !w.session.Has(u.MessageKey)) {
		return
	}
	w.session.State.Keep(tag, since)
	w.store.queue = slices.Clone(w.session.State.Queue())
	for _, units := range [][]frozen.Unit{w.store.units, w.unsaved} {
		for i := range units {
			if units[i].Tag == tag {
				units[i].Kept = since
			}
		}
	}
}

func (w *world) keepInStore(a frozen.Additions) {
	for _, tag := range a.Released {
		w.keep(tag, 0)
	}
	for _, tag := range a.Restored {
		of := w.session.State.ByTag(tag)
		w.store.edits = slices.DeleteFunc(slices.Clone(w.store.edits), func(e frozen.Edit) bool {
			isContent := e.Tag == tag && e.Kind != frozen.Strip && e.Kind != frozen.Unthink
			u := w.session.State.ByTag(e.Tag)
			return isContent || e.Kind == frozen.Shell && u != nil && u.MessageKey == of.MessageKey
		})
	}
}

// The session keeps running totals of the thinking and of the parts in its tail. countThinking computes these totals
// anew from all messages, and fails if they differ.
func (w *world) countThinking() {
	w.t.Helper()
	n := w.session.Len()
	var parts frozen.Parts
	for i := range w.session.entries {
		parts.Replace(frozen.Parts{}, w.session.entries[i].partsIn(w.session.State))
	}
	if kept := w.session.Parts(frozen.Additions{}); kept != parts {
		w.t.Fatalf("the session keeps the parts %+v of its tail, and its messages have %+v", kept, parts)
	}
	if kept, all := w.session.thinkingSent(n), w.session.thinkingIn(n, w.session.State); kept != all {
		w.t.Fatalf("the session keeps %d tokens of thinking, and its messages send %d", kept, all)
	}
}

// pass runs one pass. If the store is busy, the decision falls back to a steady one, as in the host.
func (w *world) pass() {
	w.t.Helper()
	if w.held == 0 {
		clear(w.session.sent)
		w.session.sentHead = nil
		for key := range w.session.index {
			w.session.unsent[key] = true
		}
		w.patches, w.head = map[string]schema.Patch{}, nil
	}
	w.unsaved = append(w.unsaved, w.session.Update(w.held, slices.Clone(w.raw[w.held:]), w.sent)...)
	w.askModel()
	w.countThinking()
	w.held = len(w.raw)
	w.readings.Now = w.now
	if w.profileOf != nil {
		w.readings.Profile = w.profileOf(w.session.Model())
	}
	if w.bindsOf != nil {
		w.readings.Binds = w.bindsOf(w.session.Model())
	}
	d := w.session.Decide(w.readings)
	w.note()
	r := w.session.Render(d)
	if w.busy { // the host does the same if it cannot store the pass
		d = d.Steady(CauseBusy)
		r = w.session.Render(d)
		w.session.Sent(r)
		w.session.Meta.Gauge = d.Gauge
		w.decision, w.result = d, r
		w.apply()
		return
	}
	if w.refuses && d.Verdict != schema.Steady { // the host does the same if the wire breaks a rule
		d = d.Steady(CauseInvalidWire)
		r = w.session.Render(d)
	}
	if r.Err != nil {
		w.t.Fatalf("render: %v", r.Err)
	}
	if hits := render.Validate(render.ProfileNamed(r.Setup.Profile), r.Rendered, r.Position); len(hits) > 0 {
		w.t.Fatalf("the validator fired on our own wire: %v", hits)
	}
	w.store.bind(w.session.Unstored(), r.Lost)
	w.session.Commit(d, r, w.session.After(d, r, w.now))
	w.countThinking()
	w.store.setup, w.store.meta, w.store.head = w.session.State.Setup, w.session.Meta, w.session.State.Head
	if h := w.readings.History; h != nil { // the host does the same after a revert
		kept, restored := w.session.Standing(h)
		h.Withdrawn = append(slices.Clip(h.Withdrawn), h.Compartments[kept:]...)
		h.Compartments = append(slices.Clip(h.Compartments[:kept]), restored...)
		for _, c := range restored {
			h.Withdrawn = slices.DeleteFunc(slices.Clone(h.Withdrawn), func(w chronicle.Compartment) bool { return w.Start == c.Start && w.EndKey() == c.EndKey() })
		}
	}
	w.store.counter = w.session.State.TagCounter
	w.store.units = append(w.store.units, w.unsaved...)
	w.unsaved = nil
	w.keepInStore(d.Additions.Additions)
	w.store.edits = append(w.store.edits, d.Edits...)
	w.store.queue = slices.Clone(w.session.State.Queue())
	w.readings.Flush, w.readings.Overflow, w.readings.OverflowTokens, w.readings.SystemPending = false, false, 0, false
	w.decision, w.result = d, r
	w.apply()
}

func (w *world) note() {
	tag := w.session.NotePlace()
	if w.notes == "" || tag == 0 {
		return
	}
	i := slices.IndexFunc(w.unsaved, func(u frozen.Unit) bool { return u.Tag == tag })
	if i < 0 {
		w.t.Fatalf("unit %d is known already, and may not get a note", tag)
	}
	w.session.State.ByTag(tag).Note, w.unsaved[i].Note = w.notes, w.notes
}

var watch func(w *world)

func (w *world) apply() {
	w.t.Helper()
	edits, cleared := w.session.Mutation()
	for _, k := range cleared {
		delete(w.patches, k)
	}
	maps.Copy(w.patches, edits)
	w.previous, w.wire = w.wire, nil
	chain := Chain{}
	var whole []render.Rendered
	start, pinned, head, isCleared := w.session.HeadMutation()
	if head != nil || isCleared {
		w.head = head
	}
	w.start = start
	for _, raw := range w.head {
		wm := w.decode(raw).wire
		whole = append(whole, render.Rendered{Raw: wm, Wire: wm})
		chain = chain.next(wm.Hash())
		w.wire = append(w.wire, wm)
	}
	for i, raw := range w.raw {
		m := w.decode(raw)
		key := m.Key
		if i < start && !slices.Contains(pinned, key) {
			continue
		}
		patched, err := render.Apply(raw, w.patches[key])
		if err != nil {
			w.t.Fatalf("apply to %s: %v", key, err)
		}
		wm := w.decode(patched).wire
		whole = append(whole, render.Rendered{Raw: m.wire, Wire: wm})
		chain = chain.next(wm.Hash())
		if len(wm.Blocks) > 0 {
			w.wire = append(w.wire, wm)
		}
	}
	if chain != w.result.Wire {
		w.t.Fatalf("the client's wire is not the one that the host journalled")
	}
	w.sent, w.isAnswered = w.result.Token, false
	profile := render.ProfileNamed(w.result.Setup.Profile)
	if hits := render.Validate(profile, whole, render.Whole(whole, w.result.Setup.Binds)); len(hits) > 0 {
		w.t.Fatalf("%s would refuse the whole wire: %v\n%s", profile.Name, hits, w.text())
	}
	w.checkPrompt()
	if watch != nil {
		watch(w)
	}
}

// checkPrompt fails if the newest prompt has no answer yet and is not verbatim on the wire.
func (w *world) checkPrompt() {
	w.t.Helper()
	isPast := false // the model has answered the prompt, or a newer prompt has come
	for _, raw := range slices.Backward(w.raw) {
		m := w.decode(raw)
		if m.Role == transcript.Assistant && !m.Summary && !m.Errored && (m.Finish == transcript.EndsTurn || m.Finish == transcript.EndsOtherwise) {
			isPast = true
		}
		typed, isPrompt := typedIn(&m.Message)
		if !isPrompt {
			continue
		}
		if !isPast {
			sent := w.textOf(m.Key)
			for _, one := range typed {
				if !strings.Contains(sent, one) {
					w.t.Fatalf("the request lacks the prompt %s: %.200q\nit has %.200q\n%s", m.Key, one, sent, w.text())
				}
			}
		}
		isPast = true
	}
}

func typedIn(m *transcript.Message) (typed []string, isPrompt bool) {
	if m.Role != transcript.User || m.Hidden {
		return nil, false
	}
	for _, p := range m.Parts {
		switch words := strings.TrimSpace(text.StripInjections(p.Text)); {
		case p.Hidden:
		case p.Kind == transcript.File:
			isPrompt = true
		case p.Kind == transcript.Text && p.Origin == transcript.FromUser && words != "":
			typed, isPrompt = append(typed, words), true
		}
	}
	return typed, isPrompt
}

func (w *world) textOf(key string) (sent string) {
	for _, m := range w.wire {
		for _, b := range m.Blocks {
			if m.Key == key {
				sent += text.StripInjections(b.Text) + "\n"
			}
		}
	}
	return sent
}

func (w *world) covered() int {
	if all := w.readings.History.Compartments; len(all) > 0 {
		return all[len(all)-1].End
	}
	return 0
}

// publish adds one compartment for all messages that have none, up to and including the message with the index
// `through`.
func (w *world) publish(through, importance int) {
	h, from := w.readings.History, w.covered()
	h.Compartments = append(slices.Clone(h.Compartments), chronicle.Compartment{
		Seq: len(h.Compartments), Start: from + 1, End: through + 1,
		Keys: w.keys(from, through), AfterSummary: w.session.SummaryKey(),
		Title: fmt.Sprintf("part %d", len(h.Compartments)), Importance: importance,
		Tiers: [4]string{fmt.Sprintf("All about %d to %d.", from+1, through+1), "Less.", "Little."},
	})
}

func (w *world) keys(from, through int) (keys []string) {
	for _, raw := range w.raw[from : through+1] {
		keys = append(keys, w.decode(raw).Key)
	}
	return keys
}

func (w *world) compact(n int) {
	kept := w.raw[n:]
	w.raw, w.held, w.changed = nil, 0, true
	switch w.codec.(type) {
	case transcript.Pi:
		w.raw = append(w.raw, mjson.Value(`{"id":"compacted","message":{"role":"compactionSummary","summary":"The harness's own summary.","timestamp":1}}`))
	case transcript.OpenCode2:
		w.raw = append(w.raw, mjson.Value(`{"id":"compacted","info":{"type":"compaction","created":1},"message":{"id":"compacted","role":"user","content":[{"type":"text","text":"The harness's own summary."}]}}`))
	default:
		w.raw = append(w.raw,
			mjson.Value(`{"info":{"id":"compaction","role":"user","time":{"created":1}},"parts":[{"id":"p","type":"compaction","auto":false}]}`),
			mjson.Value(`{"info":{"id":"compacted","role":"assistant","parentID":"compaction","summary":true,"finish":"stop","time":{"created":1,"completed":1}},"parts":[{"id":"q","type":"text","text":"The harness's own summary."}]}`))
	}
	w.raw = append(w.raw, kept...)
}

func (w *world) extends() bool {
	if len(w.previous) > len(w.wire) {
		return false
	}
	for i := range w.previous {
		if w.previous[i].Hash() != w.wire[i].Hash() {
			return false
		}
	}
	return true
}

// prompt returns the model, the agent and the first n messages of the wire, in the form in which the simulated provider
// compares prompts.
func (w *world) prompt(n int) string {
	var b strings.Builder
	fmt.Fprint(&b, w.decision.Model, w.decision.Agent)
	for i := range n {
		fmt.Fprintln(&b, w.wire[i].Hash())
	}
	return b.String()
}

// answer adds an answer. If the newest request is already answered, the new answer belongs to a request that the host
// does not know.
func (w *world) answer(m mjson.Value) {
	w.add(m)
	key := transcript.OpenCode{}.Decode(m).Key
	if w.thought == nil {
		w.thought = map[string]string{}
	}
	w.thought[key] = "a request without the host, answered by " + key
	if w.sent != "" && !w.isAnswered {
		w.thought[key] = w.prompt(len(w.wire))
	}
	w.isAnswered = true
}

// thinking returns the keys of the messages on the wire that have signed thinking. The provider would accept the
// thinking of the messages in `valid`, and refuse the thinking of the messages in `invalid`.
func (w *world) thinking() (valid, invalid []string) {
	raws := map[string]render.WireMessage{}
	for _, raw := range w.raw {
		m := w.decode(raw)
		raws[m.Key] = m.wire
	}
	for i := range w.wire {
		m := &w.wire[i]
		raw := raws[m.Key].Blocks
		thinks, isValid := false, w.thought[m.Key] == w.prompt(i)
		for j := range m.Blocks {
			if b := &m.Blocks[j]; b.Kind == render.ReasoningBlock && b.Signature != nil {
				thinks = true
				for k := range j { // the earlier blocks of the same answer
					same := k < len(raw) && (m.Blocks[k].Kind == render.ResultBlock || cmp.Equal(m.Blocks[k], raw[k]))
					isValid = isValid && same
				}
			}
		}
		switch {
		case thinks && isValid:
			valid = append(valid, m.Key)
		case thinks:
			invalid = append(invalid, m.Key)
		}
	}
	return valid, invalid
}

// The method `bound` returns the key of the message directly after the newest request, if it has signed thinking that
// is bound to this request. Otherwise it returns "".
func (w *world) bound() string {
	if len(w.previous) == 0 || len(w.wire) <= len(w.previous) {
		return ""
	}
	key := w.wire[len(w.previous)].Key
	for _, raw := range w.raw {
		m := w.decode(raw)
		if m.Key != key || m.Role != transcript.Assistant {
			continue
		}
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Kind == transcript.Reasoning && p.Signature != nil && w.thought[key] == w.prompt(len(w.previous)) {
				return key
			}
		}
	}
	return ""
}

func (w *world) usage(percent float64) {
	for i := len(w.raw) - 1; i >= 0; i-- {
		if w.decode(w.raw[i]).Role == transcript.Assistant {
			w.setUsage(i, int(percent/100*float64(w.readings.LimitTokens)))
			return
		}
	}
}

func (w *world) measured() {
	const overhead = 2000
	bytes := 0
	for i := range w.wire {
		bytes += w.wire[i].Bytes()
	}
	w.usage(float64(overhead+bytes/4) / float64(w.readings.LimitTokens) * 100)
}

func (w *world) text() string {
	var b strings.Builder
	for i := range w.wire {
		b.WriteString(line(&w.wire[i]))
	}
	return b.String()
}

func line(m *render.WireMessage) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s:", m.Key, m.Role)
	for _, bl := range m.Blocks {
		switch bl.Kind {
		case render.CallBlock:
			fmt.Fprintf(&b, " call %s %s", bl.Name, bl.Input)
		case render.ResultBlock:
			b.WriteString(" ->")
			if bl.IsError {
				b.WriteString(" error")
			}
			fmt.Fprintf(&b, " %q", bl.Text)
			if bl.Raw != "" {
				b.WriteString(" + image")
			}
		default:
			fmt.Fprintf(&b, " %s %q", bl.Kind, bl.Text+bl.Raw)
		}
	}
	b.WriteByte('\n')
	return b.String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type obj = map[string]any

func message(id, role string, created int64, info obj, parts ...obj) mjson.Value {
	full := obj{"id": id, "sessionID": "ses_1", "role": role, "time": obj{"created": created}}
	if role == "user" {
		full["model"] = obj{"providerID": "anthropic", "modelID": "m1"}
	} else {
		full["providerID"], full["modelID"], full["finish"] = "anthropic", "m1", "stop"
		full["time"] = obj{"created": created, "completed": created}
	}
	maps.Copy(full, info)
	raw, err := json.Marshal(obj{"info": full, "parts": parts})
	if err != nil {
		panic(err)
	}
	return raw
}

func textPart(id, text string) obj { return obj{"id": id, "type": "text", "text": text} }
func toolPart(id, callID, tool string, input any, output string) obj {
	return obj{
		"id": id, "type": "tool", "callID": callID, "tool": tool,
		"state": obj{"status": "completed", "input": input, "output": output},
	}
}

func reasoningPart(id, text string, signed bool) obj {
	p := obj{"id": id, "type": "reasoning", "text": text}
	if signed {
		p["metadata"] = obj{"anthropic": obj{"signature": "sig-" + text}}
	}
	return p
}
