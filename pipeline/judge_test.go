package pipeline

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/magicctx/magicctx-host/e2e/judge"
	mjson "github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

var (
	judgedPasses = flag.Int("judged", 400, "random passes that the judge sees")
	judgedSeed   = flag.Uint64("judged-seed", 0, "the random session to begin with; with -judged 1 it is the only one")
	judgedSteps  = flag.Int("judged-steps", 30, "the most passes of a random session")
)

func (w *world) arrays() (raw, wire []mjson.Value) {
	codec := w.codec
	wire = slices.Clone(w.head)
	for _, m := range w.raw[w.start:] {
		patched, err := render.Apply(m, w.patches[codec.Decode(m).Key])
		must(w.t, err)
		wire = append(wire, patched)
	}
	return w.raw, wire
}

func (w *world) sendTo(j *judge.Judge, name string) {
	raw, wire := w.arrays()
	profile := w.readings.Profile // the profile of the real provider; the wire may have been rendered for another profile
	c := judge.Case{Name: name, Profile: profile, Raw: raw, Wire: wire}
	// With Marked, the judge checks that the request has a cache breakpoint at this text. It can check this only for
	// OpenCode 1, because Pi's shim sets the breakpoint in the finished request, which the judge does not see.
	if w.session.State.Head.Exists() && w.session.breakpoint() != transcript.NoBreakpoint && w.isOpenCode1() {
		c.Marked = history.Acknowledgement
	}
	if !w.isOpenCode1() {
		c.Harness = string(schema.HarnessPi)
		if !w.isPi() {
			c.Harness = string(schema.HarnessOpenCode2)
		}
		if profile == "google" || profile == "bedrock" {
			return // the judge cannot convert Pi's and OpenCode 2's messages for these providers
		}
	}
	must(w.t, j.Send(c))
	if profile == "openai" { // the provider's other dialect
		c.Profile = "openai-chat"
		must(w.t, j.Send(c))
	}
}

// The judge checks the wires of random sessions. If the harness's own request already breaks a rule,
// the wire may break this rule, too.
func TestJudgeRandomSessions(t *testing.T) {
	bothCodecs(t, judgeRandomSessions)
}

func judgeRandomSessions(t *testing.T, codec transcript.Codec) {
	j := judge.Needs(t)
	var fatal []string
	passes, headed := 0, 0
	for seed := *judgedSeed; passes < *judgedPasses; seed++ {
		soft := &softTB{TB: t}
		n, err := soft.run(func() int {
			h := newWildLife(soft, codec, seed)
			defer func() { headed += h.headed }()
			return h.live(j, seed)
		})
		passes += max(n, 1)
		if err != "" {
			fatal = append(fatal, fmt.Sprintf("seed %d: %s", seed, err))
		}
	}
	j.Check(t)
	if headed == 0 && *judgedPasses > 1 {
		t.Error("no wire had a head")
	}
	for i, f := range fatal {
		if i == 5 {
			t.Errorf("and %d more", len(fatal)-i)
			break
		}
		t.Error(f)
	}
}

func TestJudgeStories(t *testing.T) {
	j := judge.Needs(t)
	files, err := filepath.Glob("testdata/*.txtar")
	must(t, err)
	name, n := "", 0
	watch = func(w *world) {
		n++
		w.sendTo(j, fmt.Sprintf("%s, pass %d", name, n))
	}
	defer func() { watch = nil }()
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		must(t, err)
		name, n = filepath.Base(file), 0
		tell(t, archive)
	}
	j.Check(t)
}

// A softTB turns a failure into a panic. So a failure ends only the random session in which it occurs, and the test
// goes on with the next session.
type softTB struct{ testing.TB }

type failed string

func (s *softTB) Helper() {}

func (s *softTB) Fatal(args ...any) { panic(failed(fmt.Sprint(args...))) }

func (s *softTB) Fatalf(format string, args ...any) { panic(failed(fmt.Sprintf(format, args...))) }

func (s *softTB) run(f func() int) (n int, err string) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failed)
			if !ok {
				panic(r)
			}
			err, _, _ = strings.Cut(string(f), "\n")
		}
	}()
	return f(), ""
}

// A wildLife plays a random session, with every kind of event that can happen in a harness.
type wildLife struct {
	*rand.Rand
	w                              *world
	n                              int
	model                          string
	thinks, interleaves, talksLate bool
	headed                         int
	// isDone means that the model has answered without a call, which ends its turn.
	isDone bool
}

func newWildLife(t testing.TB, codec transcript.Codec, seed uint64) *wildLife {
	h := &wildLife{Rand: rand.New(rand.NewPCG(seed, 11))}
	h.w = newWorldOf(t, codec, h.one(2), []int{1, 1, 2, 4, 6}[h.IntN(5)])
	h.w.profileOf = func(m schema.Model) string { return providers[m.Provider] }
	r := &h.w.readings
	r.Subagent, r.Gaps = h.one(4), h.one(2)
	r.LimitTokens = []int{20_000, 20_000, 100_000}[h.IntN(3)]
	r.LowMark = []float64{0, 30}[h.IntN(2)]
	r.Price = []schema.Price{{}, {Fresh: 3, Write: 3.75, Read: 0.3}, {Fresh: 1, Write: 1, Read: 1}}[h.IntN(3)]
	k := &r.Knobs
	k.ReasoningAge, k.TurnProtection = 1+h.IntN(10), h.IntN(4)
	k.Deduplicate, k.ClampSupersededWrites, k.ClampOldErrors = h.one(2), h.one(2), h.one(2)
	if !h.w.prefixes && h.one(2) {
		k.CompressFrom = 100
	}
	if !h.one(3) {
		r.History = &History{BudgetTokens: []int{200, 3000}[h.IntN(2)]}
	}
	h.thinks = h.one(2)
	h.thinks = h.thinks || h.one(2) // three of four models
	h.interleaves, h.talksLate = h.one(3), h.one(3)
	h.model = h.anyModel()
	h.user()
	return h
}

func (h *wildLife) one(n int) bool { return h.IntN(n) == 0 }

func (h *wildLife) id(prefix string) string { h.n++; return fmt.Sprintf("%s%d", prefix, h.n) }

// anyModel prefers Claude models, because Anthropic has the most rules.
func (h *wildLife) anyModel() string {
	if h.one(3) {
		return "anthropic"
	}
	return models[h.IntN(len(models))]
}

// On Bedrock, only Claude models use the cache, so the id must be that of a Claude model.
func modelID(provider string) string {
	if provider == "amazon-bedrock" {
		return "anthropic.claude"
	}
	return "m"
}

func (h *wildLife) live(j *judge.Judge, seed uint64) int {
	n := 3 + h.IntN(max(1, *judgedSteps-3))
	for i := range n {
		h.step()
		h.w.pass()
		if len(h.w.head) > 0 {
			h.headed++
		}
		h.w.sendTo(j, fmt.Sprintf("seed %d, pass %d of %d messages", seed, i+1, len(h.w.raw)))
		if *judgedPasses == 1 { // a single session is printed for reading
			h.w.t.Logf("pass %d (%s, %s, %.0f %%, %s)\n%s", i+1, h.w.decision.Verdict, h.w.decision.Cause, h.w.decision.Percent, h.w.readings.Profile, h.w.text())
		}
	}
	return n
}

func (h *wildLife) step() {
	w := h.w
	w.changed, w.busy = false, false
	switch h.IntN(21) {
	case 0, 1, 2:
		h.user()
	case 3, 4, 5, 6, 7, 8:
		h.answer()
	case 9:
		if n := w.session.State.TagCounter; n > 0 {
			for range 1 + h.IntN(5) {
				w.queue(1 + h.IntN(n))
			}
		}
		h.answer()
	case 10, 11: // pressure, most often an emergency
		h.answer()
		w.usage([]float64{66, 86, 95, 96, 99, 120}[h.IntN(6)])
	case 12:
		h.answer()
		w.readings.Overflow = true
	case 13:
		w.now += []int64{1000, 301_000, 4_000_000}[h.IntN(3)]
		h.user()
	case 14:
		w.restart()
	case 15: // a long turn
		for range 1 + h.IntN(8) {
			h.answer()
		}
	case 16:
		h.rare()
	case 17:
		w.busy = true
		h.answer()
	case 18:
		h.prune()
		h.answer()
	case 19:
		h.aborted()
		h.user()
	case 20:
		h.publish()
		h.answer()
	}
}

// The head shows a new summary only at the next bust, which may be far away. So half of the summaries come with a
// flush, which makes the next pass bust.
func (h *wildLife) publish() {
	if h.w.readings.History == nil {
		return
	}
	if from := h.w.covered(); from < len(h.w.raw)-1 {
		h.w.publish(from+h.IntN(len(h.w.raw)-1-from), 1+h.IntN(100))
		h.w.readings.Flush = h.one(2)
	}
}

func (h *wildLife) rare() {
	w := h.w
	switch h.IntN(5) {
	case 0:
		h.model = h.anyModel()
		h.user()
	case 1: // a revert, and another prompt in its place
		n := 1 + h.IntN(len(w.raw))
		w.raw, w.held, w.changed = w.raw[:n], min(w.held, n), true
		h.prompt(textPart(h.id("p"), "rather this"))
	case 2:
		w.readings.Flush = true
	case 3:
		w.resync()
	case 4: // the model stops thinking, or starts again
		h.thinks = !h.thinks
		h.answer()
	}
}

func (h *wildLife) prune() {
	for i, raw := range h.w.raw {
		if !strings.Contains(string(raw), `"status":"completed"`) || !h.one(3) {
			continue
		}
		var m struct {
			Info  map[string]any   `json:"info"`
			Parts []map[string]any `json:"parts"`
		}
		must(h.w.t, mjson.Unmarshal(raw, &m))
		for _, p := range m.Parts {
			if state, ok := p["state"].(map[string]any); ok && state["status"] == "completed" {
				state["time"] = obj{"start": 1, "end": 2, "compacted": 3}
			}
		}
		pruned, err := mjson.Marshal(m)
		must(h.w.t, err)
		h.w.replace(i, pruned)
		return
	}
}

var wildTexts = []string{
	"so ", "so \n", "<think>hm</think> so ", "[SYSTEM DIRECTIVE: X] ", "§7§ imitated ", strings.Repeat("word ", 300), "<system-reminder>r</system-reminder> ",
}

func (h *wildLife) text() string {
	switch h.IntN(12) {
	case 0:
		return ""
	case 1:
		return " "
	case 2:
		return "<thinking>only this</thinking>"
	}
	return wildTexts[h.IntN(len(wildTexts))] + h.id("x")
}

func (h *wildLife) user() {
	text := userTexts[h.IntN(len(userTexts))]
	if strings.TrimSpace(text) != "" {
		text += h.id(" u")
	}
	parts := []obj{textPart(h.id("p"), text)}
	if h.one(4) {
		parts = append(parts, h.file())
	}
	if h.one(5) {
		parts = append(parts, obj{"type": "text", "text": "file content", "synthetic": true})
	}
	switch h.IntN(12) {
	case 0:
		parts = append(parts, obj{"id": h.id("p"), "type": "text", "text": "status", "ignored": true})
	case 1:
		parts = append(parts, obj{"id": h.id("p"), "type": "subtask", "prompt": "p", "description": "d", "agent": "a"})
	case 2:
		parts = []obj{h.file()}
	case 3: // a status that no provider sees
		parts = []obj{{"id": h.id("p"), "type": "text", "text": "status", "ignored": true}}
	}
	h.prompt(parts...)
}

func (h *wildLife) prompt(parts ...obj) {
	h.isDone = false
	h.w.add(message(h.id("u"), "user", h.w.now, obj{"model": obj{"providerID": h.model, "modelID": modelID(h.model)}}, parts...))
}

// onePixel is a real PNG, because the AI SDK reads the first bytes of an image.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

func (h *wildLife) file() obj {
	return obj{"id": h.id("p"), "type": "file", "mime": "image/png", "url": "data:image/png;base64," + onePixel}
}

// After a finished turn, the method `answer` usually adds a prompt before the answer. Sometimes it adds none, so
// that an answer follows another one. In a harness, this happens for example if a status was posted while the turn
// ran.
func (h *wildLife) answer() {
	if h.isDone && !h.one(10) {
		h.user()
	}
	tools := []int{0, 1, 1, 2, 3, 5}[h.IntN(6)]
	h.isDone = tools == 0
	info := obj{"providerID": h.model, "modelID": modelID(h.model)}
	if tools > 0 {
		info["finish"] = "tool-calls"
	}
	h.w.add(message(h.id("a"), "assistant", h.w.now, info, h.parts(tools)...))
	if h.one(2) {
		h.w.measured()
	}
}

func (h *wildLife) parts(tools int) []obj {
	parts := []obj{{"id": h.id("p"), "type": "step-start"}}
	if h.thinks && !h.one(6) {
		parts = append(parts, h.thinking()...)
	}
	if h.one(2) {
		parts = append(parts, h.said())
	}
	signs := h.thinks // Gemini signs the first call of a step
	for i := range tools {
		if i > 0 && h.interleaves && h.thinks && h.one(2) {
			parts = append(parts, h.thinking()...)
		}
		c := h.call()
		if signs && providers[h.model] == "google" {
			c["metadata"], signs = obj{"google": obj{"thoughtSignature": h.id("ts")}}, false
		}
		parts = append(parts, c)
	}
	if tools > 0 && h.talksLate && h.one(2) {
		parts = append(parts, h.said())
	}
	if tools == 0 && !slices.ContainsFunc(parts, func(p obj) bool { return p["type"] == "text" }) && !h.one(10) {
		parts = append(parts, textPart(h.id("p"), "so "+h.id("x")))
	}
	return append(parts, obj{"id": h.id("p"), "type": "step-finish"})
}

func (h *wildLife) said() obj {
	p := textPart(h.id("p"), h.text())
	if providers[h.model] == "openai" && h.one(2) {
		p["metadata"] = obj{"openai": obj{"itemId": h.id("msg_")}}
	}
	return p
}

func (h *wildLife) thinking() (parts []obj) {
	for i := range []int{1, 1, 2, 3}[h.IntN(4)] {
		proof := obj(nil)
		text := h.id("why")
		isRedacted := i > 0 && h.one(2)
		switch profile := providers[h.model]; profile {
		case "anthropic", "vertex", "unknown":
			proof = obj{"anthropic": obj{"signature": "sig-" + text}}
			if isRedacted {
				proof = obj{"anthropic": obj{"redactedData": "red-" + text}}
			}
		case "bedrock":
			proof = obj{"bedrock": obj{"signature": "sig-" + text}}
			if isRedacted {
				proof = obj{"bedrock": obj{[]string{"redactedData", "redactedContent"}[h.IntN(2)]: "red-" + text}}
			}
		case "openai":
			proof = obj{"openai": obj{"itemId": "rs_" + text, "reasoningEncryptedContent": "enc-" + text}}
			isRedacted = h.one(2) // reasoning without a summary
		case "google":
			isRedacted = false
			if h.one(3) {
				proof = obj{"google": obj{"thoughtSignature": "ts-" + text}}
			}
		default:
			isRedacted = false
		}
		if isRedacted {
			text = ""
		}
		p := obj{"id": h.id("p"), "type": "reasoning", "text": text}
		if proof != nil && !h.one(12) { // an answer whose stream broke off has no signature
			p["metadata"] = proof
		} else if text == "" {
			continue
		}
		parts = append(parts, p)
	}
	return parts
}

func (h *wildLife) call() obj {
	file := []string{"/p/a.go", "/p/b.go"}[h.IntN(2)]
	output := "result " + h.id("r") + strings.Repeat(" line", []int{0, 1, 600, 3000}[h.IntN(4)])
	if h.one(8) {
		output = []string{"", " ", "\n"}[h.IntN(3)]
	}
	callID := h.id(map[bool]string{true: "call_", false: "toolu_01x."}[h.one(2)])
	p := toolPart(h.id("p"), callID, "read", obj{"filePath": file}, output)
	state := p["state"].(obj)
	switch h.IntN(8) {
	case 0:
		p["tool"], state["input"], state["output"] = "write", obj{"filePath": file, "content": strings.Repeat("y", 900)}, "written"
	case 1:
		p["tool"], state["input"] = "todowrite", obj{"todos": []obj{{"content": "A", "status": []string{"pending", "completed"}[h.IntN(2)], "priority": "high"}}}
	case 2:
		p["tool"], state["input"] = "ctx_reduce", obj{"drop": "1"}
	case 3:
		p["tool"], state["input"] = "bash", obj{"command": h.id("ls ")}
	}
	switch h.IntN(14) {
	case 0:
		state["status"], state["error"] = "error", "no such file"
		delete(state, "output")
	case 1: // an interrupted call, with the output so far
		state["status"], state["error"], state["metadata"] = "error", "aborted", obj{"interrupted": true, "output": output}
		delete(state, "output")
	case 2:
		p["state"] = obj{"status": []string{"running", "pending"}[h.IntN(2)], "input": obj{"filePath": file}}
	case 3:
		state["attachments"] = []obj{h.file()}
	}
	return p
}

func (h *wildLife) aborted() {
	parts := h.parts(h.IntN(3))
	parts = slices.DeleteFunc(parts[:1+h.IntN(len(parts))], func(p obj) bool { return p["type"] == "step-finish" })
	name := []string{"MessageAbortedError", "MessageAbortedError", "APIError", "ContextOverflowError"}[h.IntN(4)]
	raw := message(h.id("a"), "assistant", h.w.now, obj{"providerID": h.model, "modelID": modelID(h.model), "finish": nil, "error": obj{"name": name, "data": obj{}}}, parts...)
	h.w.add(raw)
}

func TestWildLivesKnowEveryProfile(t *testing.T) {
	known := slices.Sorted(maps.Values(providers))
	for _, p := range render.Profiles {
		if !slices.Contains(known, p.Name) {
			t.Errorf("no model of profile %s", p.Name)
		}
	}
}
