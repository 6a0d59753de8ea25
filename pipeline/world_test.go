package pipeline

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	mjson "github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// A world is a harness and a host in miniature: it keeps the raw array, runs
// passes over it, applies the mutations as the shim would, and can restart the
// host from what a store would hold.
type world struct {
	t        testing.TB
	prefixes bool
	raw      []mjson.Value
	held     int // how many of raw the session was told of, unchanged
	changed  bool
	session  *Session
	store    stored
	patches  map[string]schema.Patch
	now      int64
	readings Readings
	// profileOf names the provider profile of a model; nil keeps readings.Profile.
	profileOf func(schema.Model) string
	// busy says that the store takes nothing.
	busy    bool
	unsaved []frozen.Unit

	decision Decision
	result   Wire
	wire     []render.WireMessage // of the last pass, without messages that have no blocks
	previous []render.WireMessage
}

// stored is what survives a crash of the host.
type stored struct {
	meta    Meta
	counter int
	units   []frozen.Unit
	edits   []frozen.Edit
	queue   []frozen.QueuedDrop
	setup   frozen.Setup
}

func newWorld(t testing.TB, prefixes bool, protected int) *world {
	w := &world{t: t, prefixes: prefixes, patches: map[string]schema.Patch{}, now: 1_000_000}
	w.readings = Readings{
		LimitTokens: 100_000, Threshold: 65, TTL: 5 * time.Minute, Profile: "anthropic", Gaps: true,
		Knobs: rule.Knobs{ProtectedTags: protected, ReasoningAge: 50, Deduplicate: true, ClampSupersededWrites: true, ClampOldErrors: true, ErrorSteps: 4},
	}
	w.restart()
	return w
}

// restart forgets everything that is not stored; the client keeps its patches
// and resyncs.
func (w *world) restart() {
	cfg := Config{
		Options:   render.Options{Codec: transcript.OpenCode{}, Prefixes: w.prefixes},
		CountText: func(s string) int { return len(s) / 4 }, CountFile: func(string) int { return 1200 },
	}
	w.unsaved = nil
	state := frozen.NewState(w.store.counter, slices.Clone(w.store.units), w.store.edits, w.store.queue)
	state.Setup = w.store.setup
	w.session = NewSession(cfg, w.store.meta, state)
	w.held = 0
}

// resync makes the next pass carry the whole array.
func (w *world) resync() { w.held = 0 }

func (w *world) add(messages ...mjson.Value) { w.raw = append(w.raw, messages...) }

// replace changes a message that may have been sent already.
func (w *world) replace(i int, m mjson.Value) {
	w.raw[i] = m
	w.held = min(w.held, i)
	w.changed = true
}

func (w *world) queue(tags ...int) {
	for _, tag := range tags {
		d := frozen.QueuedDrop{Tag: tag, QueuedAt: w.now, Source: "test"}
		if !w.session.State.Queued(tag) {
			w.store.queue = append(w.store.queue, d)
		}
		w.session.State.Enqueue(d)
	}
}

// pass runs one pass and commits it, unless lost says that the host dies
// before its commit reaches the disk.
func (w *world) pass() {
	w.t.Helper()
	if w.held == 0 {
		w.session.ForgetClient()
		w.patches = map[string]schema.Patch{}
	}
	w.unsaved = append(w.unsaved, w.session.Update(w.held, slices.Clone(w.raw[w.held:]))...)
	w.held = len(w.raw)
	w.readings.Now = w.now
	if w.profileOf != nil {
		w.readings.Profile = w.profileOf(w.session.Model())
	}
	d := w.session.Decide(w.readings)
	thaw := w.session.Freeze(d)
	r := w.session.Render(d)
	if w.busy { // what the host does when nothing can be stored
		thaw()
		d = d.Steady("busy", w.session)
		r = w.session.Render(d)
		w.session.Sent(r)
		w.decision, w.result = d, r
		w.apply()
		return
	}
	w.session.State.Dequeue(d.Drained)
	if r.Err != nil {
		w.t.Fatalf("render: %v", r.Err)
	}
	if hits := render.Validate(render.ProfileNamed(d.Setup.Profile), r.Rendered, r.Position); len(hits) > 0 {
		w.t.Fatalf("the validator fired on our own wire: %v", hits)
	}
	w.session.Meta = Meta{Passes: w.session.Meta.Passes + 1, Epoch: w.session.Meta.Epoch, At: w.now, Model: d.Model, Wire: r.Wire, Raw: r.Raw, Episode: d.Episode}
	w.store.setup = d.Setup
	if d.Verdict == schema.Hard {
		w.session.Meta.Epoch++
	}
	w.store.meta = w.session.Meta
	w.store.counter = w.session.State.TagCounter
	w.store.units = append(w.store.units, w.unsaved...)
	w.unsaved = nil
	w.store.edits = append(w.store.edits, d.Edits...)
	w.store.queue = slices.Clone(w.session.State.Queue())
	w.readings.Flush, w.readings.Overflow = false, false
	w.decision, w.result = d, r
	w.apply()
}

// apply does what the shim does, and checks that the host saw the same wire.
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
	for _, raw := range w.raw {
		codec := transcript.OpenCode{}
		key := codec.Decode(raw).Key
		patched, err := render.Apply(raw, w.patches[key])
		if err != nil {
			w.t.Fatalf("apply to %s: %v", key, err)
		}
		m := codec.Decode(patched)
		wm := render.Wire(&m)
		rm := codec.Decode(raw)
		whole = append(whole, render.Rendered{Raw: render.Wire(&rm), Wire: wm})
		chain = chain.next(wm.Hash())
		if len(wm.Blocks) > 0 {
			w.wire = append(w.wire, wm)
		}
	}
	if chain != w.result.Wire {
		w.t.Fatalf("the client's wire is not the one that the host journalled")
	}
	profile := render.ProfileNamed(w.decision.Setup.Profile)
	if hits := render.Validate(profile, whole, render.Position{First: true, Last: true}); len(hits) > 0 {
		w.t.Fatalf("%s would refuse the whole wire: %v\n%s", profile.Name, hits, w.text())
	}
}

// extends reports whether the wire begins with the whole previous wire.
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

// usage makes the newest answer report a prompt of that share of the window.
func (w *world) usage(percent float64) {
	for i := len(w.raw) - 1; i >= 0; i-- {
		var m struct {
			Info  map[string]any  `json:"info"`
			Parts json.RawMessage `json:"parts"` // their bytes stay
		}
		must(w.t, json.Unmarshal(w.raw[i], &m))
		if m.Info["role"] == "assistant" {
			m.Info["tokens"] = map[string]any{"input": percent / 100 * float64(w.readings.LimitTokens)}
			raw, err := json.Marshal(m)
			must(w.t, err)
			w.raw[i] = raw
			w.held = min(w.held, i)
			return
		}
	}
}

// measured makes the newest answer report what the wire and a system prompt
// come to.
func (w *world) measured() {
	const overhead = 2000
	bytes := 0
	for i := range w.wire {
		bytes += w.wire[i].Bytes()
	}
	w.usage(float64(overhead+bytes/4) / float64(w.readings.LimitTokens) * 100)
}

// text renders the wire for people: one line a message.
func (w *world) text() string {
	var b strings.Builder
	for i := range w.wire {
		b.WriteString(line(&w.wire[i]))
	}
	return b.String()
}

// line renders one message of the wire for people.
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

// obj is a JSON object under construction.
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
