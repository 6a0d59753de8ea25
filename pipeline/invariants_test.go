package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	mjson "github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// providers has one provider for each profile. The random sessions use them.
var providers = map[string]string{
	"anthropic": "anthropic", "amazon-bedrock": "bedrock", "google-vertex-anthropic": "vertex", "openai": "openai",
	"github-copilot": "copilot", "local": "openai-compatible", "google": "google", "nobody": "unknown",
}

var models = slices.Sorted(maps.Keys(providers))

func TestInvariants(t *testing.T) {
	met = events{}
	bothCodecs(t, func(t *testing.T, codec transcript.Codec) {
		for range 2 {
			rapid.Check(t, func(rt *rapid.T) {
				h := newLife(rt, t, codec, false)
				h.w.witness = witness{inactive: map[int]bool{}, given: map[int]string{}}
				for range rapid.IntRange(3, 25).Draw(rt, "steps") {
					h.step()
					h.w.pass()
					checkInvariants(rt, h.w)
					invariant12OneBustPerPressureEpisode(rt, h.w)
				}
			})
		}
	})
	if met.folds == 0 || met.deltas == 0 || met.covered == 0 || met.kept == 0 || met.lost == 0 || met.rents == 0 || met.restored == 0 {
		t.Errorf("the test needs each of these events: %+v", met)
	}
}

// Invariant 12 is not in this list: it makes another pass, and then calls checkInvariants again.
func checkInvariants(t *rapid.T, w *world) {
	invariant1SteadyIsAppendOnly(t, w)
	invariant2FirstApplicationOnlyOnABust(t, w)
	keptUnitsStayAndComeBack(t, w)
	invariant3HardPassDrainsEverything(t, w)
	invariant4QueuedDropCausesNoBust(t, w)
	invariant5MidTurnStaysStill(t, w)
	invariant6BaselineChangesOnlyOnAHardPass(t, w)
	invariant7ToolArcsAreAtomic(t, w)
	invariant8SignedContentIsUntouchable(t, w)
	invariant10OnePlaceholder(t, w)
	invariant11UserTurnsStay(t, w)
	invariant13FailOpenPerPass(t, w)
	invariant14EachMessageIsInTheTailOrTheHead(t, w)
	invariant15ThinkingStaysValidOrGoes(t, w)
	droppedCallsDoNotRemoveTheTextOfTheirStep(t, w)
	tagIsNeverGivenTwice(t, w)
}

type witness struct {
	inactive map[int]bool   // the tags whose edits have taken effect
	kept     map[int]bool   // for each kept unit, by tag: whether it was whole after the last pass
	given    map[int]string // the unit of each tag
	baseline string
	preamble int
	valid    []string // the answers whose thinking the newest wire holds
}

// `met` counts events of all random sessions. If an event never happens, some invariants check nothing.
var met events

type events struct{ folds, deltas, covered, kept, lost, rents, restored int }

type life struct {
	t     *rapid.T
	w     *world
	n     int
	model string
	agent string
	// isShared means that only events happen that both harnesses have.
	isShared bool
	// `twin` is the same session in the other harness. It is nil in most tests.
	twin *world
}

func newLife(rt *rapid.T, t *testing.T, codec transcript.Codec, isShared bool) *life {
	w := newWorldOf(t, codec, rapid.Bool().Draw(rt, "prefixes"), rapid.IntRange(1, 6).Draw(rt, "protected"))
	w.profileOf = func(m schema.Model) string { return providers[m.Provider] }
	if rapid.Bool().Draw(rt, "binding") { // Claude models bind their thinking on every route
		w.bindsOf = func(m schema.Model) bool { return slices.Contains(fusing, providers[m.Provider]) }
	}
	r := &w.readings
	r.Subagent = rapid.Bool().Draw(rt, "subagent")
	r.LimitTokens = rapid.SampledFrom([]int{20_000, 100_000}).Draw(rt, "window")
	r.LowMark = rapid.SampledFrom([]float64{0, 30}).Draw(rt, "low mark")
	r.Price = rapid.SampledFrom([]schema.Price{{}, {Fresh: 3, Write: 3.75, Read: 0.3}, {Fresh: 1, Write: 1, Read: 1}}).Draw(rt, "price")
	r.BuysForRent, r.WorkingSet = rapid.Bool().Draw(rt, "rent"), rapid.SampledFrom([]int{0, 500}).Draw(rt, "working set")
	r.Gaps = rapid.Bool().Draw(rt, "gaps")
	k := &r.Knobs
	k.ReasoningAge = rapid.IntRange(1, 10).Draw(rt, "reasoning age")
	k.Deduplicate, k.ClampSupersededWrites = rapid.Bool().Draw(rt, "duplicates"), rapid.Bool().Draw(rt, "superseded")
	k.ClampOldErrors, k.TurnProtection = rapid.Bool().Draw(rt, "errors"), rapid.IntRange(0, 3).Draw(rt, "turn protection")
	if !w.prefixes && rapid.Bool().Draw(rt, "caveman") {
		k.CompressFrom = 100
	}
	if rapid.Bool().Draw(rt, "historian") {
		r.History = &History{
			BudgetTokens: rapid.SampledFrom([]int{200, 3000}).Draw(rt, "history budget"), StandsAlone: rapid.Bool().Draw(rt, "head alone"),
			Docs: []history.Doc{{Name: "ARCHITECTURE.md", Text: "It has rooms."}},
		}
	}
	h := &life{t: rt, w: w, isShared: isShared, model: rapid.SampledFrom(models).Draw(rt, "model")}
	h.user()
	return h
}

func (h *life) id(prefix string) string { h.n++; return fmt.Sprintf("%s%d", prefix, h.n) }

func (h *life) step() {
	h.w.changed, h.w.busy, h.w.forgot = false, false, false
	if !h.isShared { // the harnesses do not mark the user's words in the same way
		h.w.notes = rapid.SampledFrom([]string{"", "", "\n\n<system-reminder>\nMuch could go.\n</system-reminder>"}).Draw(h.t, "note")
	}
	switch rapid.IntRange(0, 18).Draw(h.t, "what") {
	case 0, 1:
		h.user()
	case 2, 3, 4, 5:
		h.assistant()
	case 6:
		if n := h.w.session.State.TagCounter; n > 0 {
			h.w.queue(rapid.SliceOfN(rapid.IntRange(1, n), 1, 4).Draw(h.t, "drops")...)
		}
		h.assistant()
	case 7:
		h.w.usage(float64(rapid.SampledFrom([]int{10, 64, 65, 70, 84, 85, 95, 99}).Draw(h.t, "percent")))
	case 8:
		h.w.now += rapid.SampledFrom([]int64{1000, 299_000, 301_000, 400_000}).Draw(h.t, "pause")
		h.user()
	case 9:
		h.w.restart()
		if h.twin != nil {
			h.twin.restart()
		}
	case 10:
		switch rapid.IntRange(0, 5).Draw(h.t, "rare") {
		case 0:
			h.model = rapid.SampledFrom(models).Draw(h.t, "model")
			h.user()
		case 1:
			h.revert()
		case 2:
			h.w.readings.Flush = true
		case 3:
			h.w.readings.Overflow = true
		case 4:
			if !h.isShared {
				h.agent = rapid.SampledFrom([]string{"build", "plan"}).Draw(h.t, "agent")
			}
			h.user()
		case 5:
			h.w.readings.SystemPending = true
		}
	case 11:
		h.w.resync()
		if h.twin != nil {
			h.twin.resync()
		}
	case 12:
		h.w.busy = true
		h.assistant()
	case 14: // a request is sent without the host
		h.w.sent = ""
		h.assistant()
	case 15, 16:
		h.publish()
		h.assistant()
	case 17, 18:
		if n := h.w.session.State.TagCounter; n > 0 {
			for _, tag := range rapid.SliceOfNDistinct(rapid.IntRange(1, n), 1, min(n, 4), rapid.ID[int]).Draw(h.t, "kept") {
				if u := h.w.session.State.ByTag(tag); u != nil {
					since := rapid.SampledFrom([]int64{0, 1, 2, 2}).Draw(h.t, "since")
					h.w.keep(tag, since)
					if h.twin != nil && h.twin.session.State.ByTag(tag) != nil {
						h.twin.keep(tag, since)
					}
				}
			}
		}
		h.w.readings.Flush = rapid.Bool().Draw(h.t, "flush")
		h.assistant()
	case 13: // a long turn
		for range rapid.IntRange(1, 12).Draw(h.t, "turn") {
			h.assistant()
		}
	}
}

var userTexts = []string{
	"hello", "§7§ imitated", " ", "§12§ §823 BGB: go on", "before <system-reminder>do</system-reminder> after", "<system-reminder>only</system-reminder>",
	strings.Repeat("I think we should just use the database because it is really simple. ", 20),
}

func (h *life) user() { h.prompt(!h.isShared) }

// prompt adds a prompt of the user. The prompt may be blank only if mayBeBlank is true, because Pi does not send blank
// prompts.
func (h *life) prompt(mayBeBlank bool) {
	texts := userTexts
	if !mayBeBlank {
		texts = slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return strings.TrimSpace(s) == "" })
	}
	parts := []obj{textPart(h.id("p"), rapid.SampledFrom(texts).Draw(h.t, "user text"))}
	if rapid.IntRange(0, 4).Draw(h.t, "file") == 0 {
		parts = append(parts, obj{"id": h.id("p"), "type": "file", "mime": "image/png", "url": "data:image/png;base64," + strings.Repeat("A", rapid.IntRange(4, 400).Draw(h.t, "image"))})
	}
	if !h.isShared && rapid.IntRange(0, 4).Draw(h.t, "synthetic") == 0 { // Pi has no synthetic texts
		parts = append(parts, obj{"type": "text", "text": "file content", "synthetic": true})
	}
	h.w.add(message(h.id("u"), "user", h.w.now, obj{"agent": h.agent, "model": obj{"providerID": h.model, "modelID": "m"}}, parts...))
}

func (h *life) assistant() {
	parts := []obj{{"id": h.id("p"), "type": "step-start"}}
	think := func(most int) {
		for range rapid.IntRange(0, most).Draw(h.t, "thinks") {
			parts = append(parts, reasoningPart(h.id("p"), h.id("why"), rapid.Bool().Draw(h.t, "signed")))
		}
	}
	think(2)
	if rapid.Bool().Draw(h.t, "talks") {
		parts = append(parts, textPart(h.id("p"), rapid.SampledFrom([]string{"§3§ so ", "<think>hm</think> §433 so ", "[SYSTEM DIRECTIVE: X] ", strings.Repeat("word ", 200)}).Draw(h.t, "text")+h.id("x")))
	}
	if rapid.IntRange(0, 4).Draw(h.t, "interleaved") == 0 {
		think(1)
	}
	tools := rapid.IntRange(0, 3).Draw(h.t, "tools")
	for range tools {
		parts = append(parts, h.call())
	}
	if tools > 0 && rapid.IntRange(0, 4).Draw(h.t, "goes on") == 0 {
		parts = append(parts, textPart(h.id("p"), "and now"))
	}
	info := obj{"providerID": h.model, "modelID": "m"}
	if tools > 0 {
		info["finish"] = "tool-calls"
	}
	h.w.answer(message(h.id("a"), "assistant", h.w.now, info, parts...))
	if rapid.Bool().Draw(h.t, "reports usage") {
		h.w.measured()
	}
}

func (h *life) call() obj {
	file := rapid.SampledFrom([]string{"/p/a.go", "/p/b.go"}).Draw(h.t, "file")
	output := "result " + h.id("r") + strings.Repeat(" line", rapid.SampledFrom([]int{0, 1, 600, 3000}).Draw(h.t, "lines"))
	var p obj
	tools := []string{"read", "read", "bash", "write", "todowrite", "ctx_reduce"}
	if h.isShared {
		tools = slices.DeleteFunc(tools, func(tool string) bool { return tool == "todowrite" })
	}
	switch tool := rapid.SampledFrom(tools).Draw(h.t, "tool"); tool {
	case "write":
		p = toolPart(h.id("p"), h.id("call"), tool, obj{"filePath": file, "content": strings.Repeat("y", 900)}, "written")
	case "todowrite":
		status := rapid.SampledFrom([]string{"pending", "completed"}).Draw(h.t, "todo")
		p = toolPart(h.id("p"), h.id("call"), tool, obj{"todos": []obj{{"content": "A", "status": status, "priority": "high"}}}, "1 todo")
	case "ctx_reduce":
		p = toolPart(h.id("p"), h.id("call"), tool, obj{"drop": "1"}, "Marked: 1.")
	case "bash":
		p = toolPart(h.id("p"), h.id("call"), tool, obj{"command": h.id("ls ")}, output)
	default:
		p = toolPart(h.id("p"), h.id("call"), tool, obj{"filePath": file}, output)
	}
	if rapid.IntRange(0, 5).Draw(h.t, "fails") == 0 {
		state := p["state"].(obj)
		state["status"], state["error"] = "error", "no such file"
		delete(state, "output")
	}
	return p
}

func (h *life) publish() {
	if h.w.readings.History == nil {
		return
	}
	if from := h.w.covered(); from < len(h.w.raw)-1 {
		h.w.publish(rapid.IntRange(from, len(h.w.raw)-2).Draw(h.t, "publish through"), rapid.IntRange(1, 100).Draw(h.t, "importance"))
		h.w.readings.Flush = rapid.Bool().Draw(h.t, "flush")
	}
}

func (h *life) revert() {
	n := rapid.IntRange(1, len(h.w.raw)).Draw(h.t, "revert to")
	h.w.raw = h.w.raw[:n]
	h.w.held = min(h.w.held, n)
	h.w.changed = true
	// Pi does not send a blank prompt. The array could then end with an answer whose calls were removed, which no
	// provider accepts. The pass would fail, and Pi would send its own array (docs/pi.md).
	h.prompt(!h.isShared && !h.w.isPi())
}

func invariant1SteadyIsAppendOnly(t *rapid.T, w *world) {
	if w.decision.Verdict == schema.Steady && !w.changed && !w.extends() {
		t.Fatalf("a steady pass (%s) changed what had been sent", w.decision.Cause)
	}
	if w.result.Bust != !w.extends() && w.session.Meta.Passes > 1 && !w.forgot {
		t.Fatalf("bust %v, but extends %v", w.result.Bust, w.extends())
	}
	if w.result.BustCause == BustUnexplained {
		t.Fatal("unexplained bust")
	}
}

func invariant2FirstApplicationOnlyOnABust(t *rapid.T, w *world) {
	known := w.witness.inactive
	for _, u := range w.session.State.Units() {
		if !u.Active() && !known[u.Tag] {
			known[u.Tag] = true
			if w.decision.Verdict == schema.Steady {
				t.Fatalf("edit of §%d§ took effect on a steady pass", u.Tag)
			}
		}
	}
}

// The content of a kept unit comes back only with a bust, and then completely. Only an emergency or a summary removes
// it again.
func keptUnitsStayAndComeBack(t *rapid.T, w *world) {
	d := w.decision
	for _, tag := range d.Restored {
		u := w.session.State.ByTag(tag)
		if d.Verdict == schema.Steady || u.Covered || !u.IsWhole() && !slices.Contains(d.Released, tag) {
			t.Fatalf("%s pass brought §%d§ back: %+v", d.Verdict, tag, u)
		}
		w.witness.inactive[tag] = !u.Active() // the rules may have had to drop it again
		met.restored++
	}
	for tag, wasWhole := range w.witness.kept {
		u := w.session.State.ByTag(tag)
		if u == nil || u.Covered || slices.Contains(d.Released, tag) {
			continue
		}
		if wasWhole && u.Kept != 0 && !u.IsWhole() { // if Kept is 0, the user no longer wants to keep the unit
			t.Fatalf("§%d§ was kept, and is gone: %+v", tag, u)
		}
	}
	for _, tag := range d.Released {
		if u := w.session.State.ByTag(tag); !u.Covered && d.Percent < EmergencyPercent && w.witness.kept[tag] {
			t.Fatalf("§%d§ was taken at %.1f %% although it was kept", tag, d.Percent)
		}
	}
	w.witness.kept = map[int]bool{}
	for _, u := range w.session.State.Units() {
		if u.Kept != 0 {
			w.witness.kept[u.Tag] = u.IsWhole()
		}
	}
}

func invariant3HardPassDrainsEverything(t *rapid.T, w *world) {
	left := slices.DeleteFunc(slices.Clone(w.session.State.Queue()), func(q frozen.QueuedDrop) bool {
		asked := w.session.unansweredPrompt() // a drop of this prompt waits for its answer
		return asked >= 0 && w.session.State.ByTag(q.Tag).MessageKey == w.session.entries[asked].header.key
	})
	if w.decision.Verdict == schema.Hard && len(left) > 0 {
		t.Fatalf("left after a hard pass: %v", left)
	}
}

// A queued drop alone causes no bust. It waits until the rent has reached the price of a bust, or until a pass busts
// for another cause.
func invariant4QueuedDropCausesNoBust(t *rapid.T, w *world) {
	d := w.decision
	asked := d.Percent >= w.readings.Threshold
	if d.Cause == CauseRent {
		met.rents++
		// If kept units come back, the prompt may grow.
		asked = w.readings.BuysForRent && (d.Price.Removed > 0 || len(d.Restored) > 0) && d.Price.Rent >= d.Rent.Price
		for _, r := range d.Reasons {
			if i := slices.IndexFunc(rule.Table, func(known rule.Rule) bool { return known.Name == r.Rule }); rule.Table[i].On > rule.AnyBust {
				t.Fatalf("the rule %q has taken content for rent", r.Rule)
			}
		}
	}
	switch w.decision.Cause {
	case CauseFirstPass, CauseModelChanged, CausePreamble, CauseReverted, CauseIdle, CauseFlush, CauseOverflow:
		asked = true
	}
	if len(w.decision.Edits) > 0 && !asked {
		t.Fatalf("edits without a reason to bust: %s (%s)", w.decision.Verdict, w.decision.Cause)
	}
}

func invariant5MidTurnStaysStill(t *rapid.T, w *world) {
	exempt := w.readings.Subagent || w.decision.Percent >= ForcePercent || w.decision.Cause == CauseFlush || w.decision.Cause == CauseOverflow || w.decision.Cause == CauseRent
	if w.session.isMidTurn() && w.decision.Verdict == schema.Soft && !exempt {
		t.Fatalf("soft pass in the middle of a turn: %s", w.decision.Cause)
	}
}

func invariant7ToolArcsAreAtomic(t *rapid.T, w *world) {
	open := map[string]int{}
	for _, m := range w.wire {
		for _, b := range m.Blocks {
			switch b.Kind {
			case render.CallBlock:
				open[b.ID]++
			case render.ResultBlock:
				open[b.ID]--
			}
		}
	}
	for id, n := range open {
		if n != 0 {
			t.Fatalf("call %s has %+d results too few", id, n)
		}
	}
}

func invariant8SignedContentIsUntouchable(t *rapid.T, w *world) {
	for _, m := range w.wire {
		for _, b := range m.Blocks {
			proof := fmt.Sprintf(`{"anthropic":{"signature":"sig-%s"}}`, b.Text)
			if w.isPi() {
				proof = `"sig-` + b.Text + strings.Repeat("x", len(proof)-len(b.Text)-len(`"sig-"`)) + `"`
			}
			if b.Kind == render.ReasoningBlock && b.Signature != nil && string(b.Signature) != proof {
				t.Fatalf("signed block %q carries %s", b.Text, b.Signature)
			}
		}
	}
}

// Two worlds play the same session, but in one of them, the host restarts at random. After each pass, both worlds must
// send the same wire.
func TestInvariant9RestartIsInvisible(t *testing.T) {
	bothCodecs(t, func(t *testing.T, codec transcript.Codec) { rapid.Check(t, restartIsInvisible(t, codec)) })
}

func restartIsInvisible(t *testing.T, codec transcript.Codec) func(rt *rapid.T) {
	return func(rt *rapid.T) {
		h := newLife(rt, t, codec, false)
		w := h.w
		twin := newWorldOf(t, codec, w.prefixes, w.readings.Knobs.ProtectedTags)
		twin.readings, twin.profileOf, twin.bindsOf, twin.decoded = w.readings, w.profileOf, w.bindsOf, w.decoded
		if w.readings.History != nil {
			own := *w.readings.History
			twin.readings.History = &own
		}
		for range rapid.IntRange(3, 25).Draw(rt, "steps") {
			queued := len(w.store.queue)
			h.step()
			w.busy = false // otherwise the two hosts could give different tags: the busy store refuses units, a revert removes these, and a crash forgets them
			twin.raw, twin.held, twin.now = append(twin.raw[:0:0], w.raw...), min(twin.held, sameUntil(twin.raw, w.raw)), w.now
			twin.readings.SystemPending, twin.sent, twin.notes = w.readings.SystemPending, w.sent, w.notes
			if w.readings.History != nil {
				twin.readings.History.Compartments = slices.Clone(w.readings.History.Compartments)
			}
			twin.readings.Flush, twin.readings.Overflow, twin.busy = w.readings.Flush, w.readings.Overflow, w.busy
			for _, q := range w.store.queue[min(queued, len(w.store.queue)):] {
				twin.queue(q.Tag)
			}
			for _, u := range w.session.State.Units() {
				if t := twin.session.State.ByTag(u.Tag); t != nil && t.Kept != u.Kept {
					twin.keep(u.Tag, u.Kept)
				}
			}
			switch rapid.IntRange(0, 3).Draw(rt, "crash") {
			case 0:
				w.restart()
			case 1: // the host runs the pass, and crashes before it stores the result or answers
				before := w.store
				var compartments []chronicle.Compartment
				if w.readings.History != nil {
					compartments = slices.Clone(w.readings.History.Compartments)
				}
				w.store.units = append([]frozen.Unit(nil), before.units...)
				wire, previous, sent, answered := w.wire, w.previous, w.sent, w.isAnswered
				flush, overflow, pending := w.readings.Flush, w.readings.Overflow, w.readings.SystemPending
				w.pass()
				w.store, w.wire, w.previous, w.sent, w.isAnswered = before, wire, previous, sent, answered
				if w.readings.History != nil {
					w.readings.History.Compartments = compartments
				}
				w.readings.Flush, w.readings.Overflow, w.readings.SystemPending = flush, overflow, pending
				w.restart()
			}
			w.pass()
			twin.pass()
			if w.text() != twin.text() {
				rt.Fatalf("after a crash:\n%s\nwithout one:\n%s", w.text(), twin.text())
			}
		}
	}
}

func sameUntil[E ~[]byte](a, b []E) int {
	i := 0
	for i < len(a) && i < len(b) && string(a[i]) == string(b[i]) {
		i++
	}
	return i
}

func invariant10OnePlaceholder(t *rapid.T, w *world) {
	for _, m := range w.wire {
		for _, b := range m.Blocks {
			if !strings.Contains(b.Text, "[dropped") || b.Text == "[dropped]" && isShell(w, m.Key) {
				continue
			}
			var tag int
			if _, err := fmt.Sscanf(b.Text, "[dropped §%d§]", &tag); err != nil || b.Text != render.Placeholder(tag) {
				t.Fatalf("drop text %q", b.Text)
			}
			if u := w.session.State.ByTag(tag); u == nil || u.Active() {
				t.Fatalf("placeholder of §%d§, which was not dropped", tag)
			}
		}
	}
}

// isShell reports whether the message is a shell. Some providers need a text in place of a shell.
func isShell(w *world, messageKey string) bool {
	return slices.ContainsFunc(w.session.State.Units(), func(u frozen.Unit) bool { return u.MessageKey == messageKey && u.IsShell })
}

// Bug J1: when the calls of a step were dropped, the text of the step was removed, too, for some providers.
func droppedCallsDoNotRemoveTheTextOfTheirStep(t *rapid.T, w *world) {
	onWire := map[string]int{}
	for _, m := range w.wire {
		for _, b := range m.Blocks {
			if b.Kind == render.TextBlock && !strings.HasPrefix(b.Text, "[dropped") {
				onWire[m.Key]++
			}
		}
	}
	for _, raw := range w.raw[w.start:] {
		m := w.decode(raw)
		if m.Role != transcript.Assistant || isShell(w, m.Key) {
			continue
		}
		said, keys := 0, newUnitKeys(&m.Message)
		for i := range m.Parts {
			p := &m.Parts[i]
			u := w.session.State.ByKey(keys.of(p))
			if p.Kind == transcript.Text && !p.Hidden && strings.TrimSpace(p.Text) != "" && (u == nil || u.Active()) {
				said++
			}
		}
		if onWire[m.Key] < said {
			t.Fatalf("%s: %d texts of %s should be on the wire, %d are:\n%s", w.result.Setup.Profile, said, m.Key, onWire[m.Key], w.text())
		}
	}
}

func invariant11UserTurnsStay(t *rapid.T, w *world) {
	onWire := map[string]bool{}
	for _, m := range w.wire {
		onWire[m.Key] = true
	}
	for _, raw := range w.raw[w.start:] {
		m := w.decode(raw)
		if m.Role == transcript.User && !onWire[m.Key] && len(m.wire.Blocks) > 0 { // Pi itself leaves a blank prompt out
			t.Fatalf("user message %s is gone", m.Key)
		}
	}
}

// A tag is never given to a second unit. Otherwise, the model could ask for a drop by tag and hit the wrong unit (D6).
func tagIsNeverGivenTwice(t *rapid.T, w *world) {
	given := w.witness.given
	for _, u := range w.session.State.Units() {
		if key, ok := given[u.Tag]; ok && key != u.Key {
			t.Fatalf("tag %d was that of %q, and is that of %q", u.Tag, key, u.Key)
		}
		given[u.Tag] = u.Key
	}
}

// After a bust for pressure, the next pass must not bust for pressure again. There are two exceptions. The next pass may
// bust for rent, because such a bust also drops the newest units that the model has marked. And more small busts for
// pressure may follow if the model's price is unknown, or if writing to the cache costs no more than reading, because
// each of them then costs nothing (-rapid.seed=6722935167943988486, 3338930536038272391, and 13711531760929742792 for
// OpenCode 2).
func invariant12OneBustPerPressureEpisode(t *rapid.T, w *world) {
	isOurs := w.result.Bust && slices.Contains([]string{string(CausePressure), string(CauseForce)}, w.result.BustCause)
	if !isOurs || w.busy {
		return
	}
	if w.decision.Percent < w.readings.Threshold {
		t.Fatalf("bust (%s) at a pressure of %.1f %%", w.result.BustCause, w.decision.Percent)
	}
	freed, emergency := w.decision.Price.Removed, w.decision.Percent >= EmergencyPercent
	if p := w.readings.Price; (p.Read <= 0 || p.Write <= p.Read) && freed < leastRemoved {
		return
	}
	w.pass()
	if w.result.Bust && !emergency && w.result.BustCause != string(CauseRent) {
		t.Fatalf("another bust (%s) at once, after %d tokens were freed", w.result.BustCause, freed)
	}
	checkInvariants(t, w)
}

func invariant13FailOpenPerPass(t *rapid.T, w *world) {
	if !w.busy {
		return
	}
	if !w.changed && len(w.previous) > 0 && !w.extends() {
		t.Fatalf("a pass that was not stored changed what had been sent:\n%s", w.text())
	}
	for _, u := range w.session.State.Units() {
		edited := u.Treatment
		edited.Covered = false
		if edited != (frozen.Treatment{}) && !slices.ContainsFunc(w.store.edits, func(e frozen.Edit) bool { return e.Tag == u.Tag }) {
			t.Fatalf("§%d§ is %+v, which nobody has stored", u.Tag, u.Treatment)
		}
	}
}

// Bug V2 (docs/defects.md): a pass raised ReclaimUpTo, and its wire was refused. The new value was stored, but the
// session in memory still had the old one. So after a restart, the next pass dropped other outputs.
func TestDefectV2RefusedBustLeavesOnlyWhatIsStored(t *testing.T) {
	w := hundreds(t, 5)
	w.queue(2)
	w.refuses, w.readings.Flush = true, true
	before := w.session.State.Setup
	w.add(said("u9", "user", 10, 0))
	w.pass()
	if w.decision.Cause != CauseInvalidWire || w.result.Bust || !w.extends() {
		t.Fatalf("%s, bust %v:\n%s", w.decision.Cause, w.result.Bust, w.text())
	}
	s := w.session
	if !s.State.ByTag(2).Active() || !s.State.Queued(2) || s.State.Setup != before {
		t.Errorf("something of the refused bust is left: %+v, setup %+v", s.State.ByTag(2), s.State.Setup)
	}
	if s.Meta.ReclaimUpTo != s.State.TagCounter || s.Meta != w.store.meta {
		t.Errorf("in memory %+v\nstored    %+v", s.Meta, w.store.meta)
	}
	w.refuses, w.readings.Flush = false, true
	w.pass()
	if w.decision.Cause != CauseFlush || s.State.ByTag(2).Active() || s.State.Queued(2) {
		t.Errorf("the bust was not made up for: %s", w.decision.Cause)
	}
}

func invariant15ThinkingStaysValidOrGoes(t *rapid.T, w *world) {
	if !w.result.Setup.Binds {
		w.witness.preamble, w.witness.valid = 0, nil
		return
	}
	valid, invalid := w.thinking()
	if len(invalid) > 0 {
		t.Fatalf("the thinking of %v is sent after another prompt:\n%s", invalid, w.text())
	}
	if preamble := w.result.Setup.Preamble; !w.result.Bust && !w.changed && preamble == w.witness.preamble {
		for _, key := range w.witness.valid {
			if !slices.Contains(valid, key) {
				t.Fatalf("a pass that is no bust left out the thinking of %s:\n%s", key, w.text())
			}
		}
		// An answer that was never sent may be edited without a bust. If this edit removes its last call, the answer
		// loses its thinking, too.
		if newest := w.bound(); newest != "" && !slices.Contains(valid, newest) && !w.edits(newest) {
			t.Fatalf("the thinking of %s answered the newest request and is gone:\n%s", newest, w.text())
		}
	}
	w.witness.preamble, w.witness.valid = w.result.Setup.Preamble, valid
	met.kept, met.lost = met.kept+len(valid), met.lost+len(w.result.Lost)
}

func (w *world) edits(key string) bool {
	return slices.ContainsFunc(w.decision.Edits, func(e frozen.Edit) bool { return w.session.State.ByTag(e.Tag).MessageKey == key })
}

func TestSteadyPassRendersOnlyTheNewTail(t *testing.T) {
	w := newWorld(t, true, 5)
	for i := range 500 {
		w.add(message(fmt.Sprintf("u%d", i), "user", w.now, nil, textPart(fmt.Sprintf("p%d", i), "text")))
	}
	w.pass()
	w.now += time.Second.Milliseconds()
	w.add(message("a1", "assistant", w.now, nil, textPart("pa", "answer")), message("ux", "user", w.now, nil, textPart("px", "next")))
	w.pass()
	if n := len(w.result.Rendered); n != 2 {
		t.Errorf("%d messages rendered, want 2", n)
	}
}

func TestUncoveredDecodesOnlyTheNewTail(t *testing.T) {
	w := newWorld(t, true, 5)
	codec := &countingCodec{Codec: w.codec}
	w.session.Codec = codec
	say := func(from, n int) {
		for i := from; i < from+n; i++ {
			w.now += time.Second.Milliseconds()
			w.add(message(fmt.Sprintf("u%d", i), "user", w.now, nil, textPart(fmt.Sprintf("p%d", i), fmt.Sprint("text ", i))))
		}
		w.pass()
	}
	say(0, 300)
	for _, want := range []struct{ total, decoded int }{{300, 300}, {300, 0}, {302, 2}} {
		if want.total > w.session.Len() {
			say(w.session.Len(), want.total-w.session.Len())
		}
		codec.decoded.Store(0)
		u, ok := w.session.Uncovered(0, nil)
		if !ok || u.Messages.Total() != want.total || int(codec.decoded.Load()) != want.decoded {
			t.Errorf("%d of %d messages, %d decoded, want %d", u.Messages.Total(), want.total, codec.decoded.Load(), want.decoded)
		}
		last := u.Messages.Between(want.total, want.total+1)
		if wanted := fmt.Sprint("text ", want.total-1); len(last) != 1 || !slices.Equal(last[0].Texts, []string{wanted}) || last[0].Tokens == 0 {
			t.Errorf("the newest message is %+v, want %q", last, wanted)
		}
	}
}

// A countingCodec counts the messages that it decodes.
type countingCodec struct {
	transcript.Codec
	decoded atomic.Int64
}

func (c *countingCodec) Decode(raw mjson.Value) transcript.Message {
	c.decoded.Add(1)
	return c.Codec.Decode(raw)
}
