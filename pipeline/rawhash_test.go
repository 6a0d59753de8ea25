package pipeline

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	mjson "github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// Bug D7: OpenCode pruned an empty output, and sent a fixed sentence instead. The raw hash did not include this
// sentence, so the host found no cause for the bust.
func TestPrunedOutputIsABustOfTheHarness(t *testing.T) {
	pruned := func(state obj) obj {
		state["time"] = obj{"start": 1, "end": 2, "compacted": 3}
		return state
	}
	image := []obj{{"type": "file", "mime": "image/png", "url": "data:image/png;base64,BBBB"}}
	for name, states := range map[string][2]obj{
		"empty, then pruned":      {{"output": ""}, pruned(obj{"output": ""})},
		"absent, then pruned":     {{}, pruned(obj{})},
		"a text, then pruned":     {{"output": "A"}, pruned(obj{"output": "A"})},
		"an image, then pruned":   {{"output": "", "attachments": image}, pruned(obj{"output": "", "attachments": image})},
		"pruned, then its text":   {pruned(obj{"output": ""}), {"output": ""}},
		"running, then no reason": {{"status": "running"}, {"status": "error", "error": ""}},
	} {
		w := newWorld(t, true, 1)
		step := func(state obj) mjson.Value {
			if state["status"] == nil {
				state["status"] = "completed"
			}
			state["input"] = obj{}
			return message("a1", "assistant", w.now, nil, obj{"id": "p2", "type": "tool", "callID": "c1", "tool": "read", "state": state})
		}
		w.add(message("u1", "user", w.now, nil, textPart("p1", "q")), step(states[0]), message("u2", "user", w.now, nil, textPart("p3", "more")))
		w.pass()
		before := w.text()
		w.replace(1, step(states[1]))
		w.pass()
		if w.text() == before {
			t.Errorf("%s: the wire is the same:\n%s", name, before)
		}
		if !w.result.Bust || w.result.BustCause != BustTranscript {
			t.Errorf("%s: bust %v, cause %q\n%s", name, w.result.Bust, w.result.BustCause, w.text())
		}
		w.pass()
		if w.result.Bust {
			t.Errorf("%s: the pass after it busts again", name)
		}
	}
}

// If the harness changes a message, its raw hash must change. Otherwise the host would seem to have made the bust.
func TestRawHashChangesWithTheWire(t *testing.T) {
	cfg := Config{
		Options:   render.Options{Codec: transcript.OpenCode{}, Prefixes: true},
		CountText: func(s string) int { return len(s) / 4 }, CountFile: func(string) int { return 1200 },
	}
	rapid.Check(t, func(t *rapid.T) {
		state := frozen.NewState(0, nil, nil, nil)
		setup := frozen.Setup{Profile: rapid.SampledFrom([]string{"anthropic", "openai", "google"}).Draw(t, "profile"), Binds: rapid.Bool().Draw(t, "binds"), Gaps: true}
		var sessions []*Session
		session := func(raw mjson.Value) {
			s := NewSession(cfg, Meta{}, state)
			s.Update(0, []mjson.Value{raw}, "")
			s.frame = setup
			sessions = append(sessions, s)
		}
		role := rapid.SampledFrom([]string{"user", "assistant", "assistant", "assistant"}).Draw(t, "role")
		parts := rapid.SliceOfN(rapid.Custom(drawPart), 1, 3).Draw(t, "parts")
		session(drawMessage(t, role, parts))
		for range 20 {
			changed := slices.Clone(parts)
			i := rapid.IntRange(0, len(parts)-1).Draw(t, "changed")
			changed[i] = drawChange(t, parts[i])
			session(drawMessage(t, role, changed))
		}
		state.Commit(frozen.Additions{Edits: drawEdits(t, state, sessions...)})
		fused, unbound := rapid.Bool().Draw(t, "fused"), rapid.Bool().Draw(t, "unbound")
		byRaw := map[render.Hash]rendering{}
		for _, s := range sessions {
			s.entries[0].fused, s.entries[0].unbound = fused, unbound
			r := s.renderEntry(0)
			if r.err != nil {
				t.Fatalf("patch: %v\n%s", r.err, s.entries[0].raw)
			}
			if twin, ok := byRaw[r.rawHash]; ok && twin.hash != r.hash {
				t.Fatalf("one raw hash, two wires, the second of %s\n%s%s", s.entries[0].raw, line(&twin.Wire), line(&r.Wire))
			}
			byRaw[r.rawHash] = r
		}
	})
}

func drawMessage(t *rapid.T, role string, parts []obj) mjson.Value {
	info := obj{"id": "m1", "sessionID": "ses_1", "role": role, "time": obj{"created": 1}}
	if name := rapid.SampledFrom([]string{"", "", "", "MessageAbortedError", "APIError"}).Draw(t, "error"); name != "" {
		info["error"] = obj{"name": name}
	}
	raw, err := json.Marshal(obj{"info": info, "parts": parts})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// drawPart draws its values from small sets, so that two drawn parts are often equal.
func drawPart(t *rapid.T) obj {
	p := obj{"type": rapid.SampledFrom([]string{"text", "text", "reasoning", "tool", "tool", "tool", "file", "step-start", "compaction", "new"}).Draw(t, "type")}
	if id := rapid.SampledFrom([]string{"p1", "p1", "p2", ""}).Draw(t, "id"); id != "" {
		p["id"] = id
	}
	maybe := func(o obj, name string, values ...any) {
		if v := rapid.SampledFrom(append(values, nil)).Draw(t, name); v != nil {
			o[name] = v
		}
	}
	contents := []any{"", " ", "a", "§1§ a", "<think>z</think> a", "<system-reminder>a</system-reminder>", strings.Repeat("because ", 80)}
	maybe(p, "text", contents...)
	maybe(p, "ignored", true)
	maybe(p, "synthetic", true)
	maybe(p, "mime", "image/png", "text/plain")
	maybe(p, "url", "data:a", "data:b")
	if p["type"] != "tool" {
		maybe(p, "metadata", obj{}, obj{"anthropic": obj{"signature": "s"}}, obj{"anthropic": obj{"x": 1}})
		return p
	}
	p["callID"] = rapid.SampledFrom([]string{"c1", "c1", "c2"}).Draw(t, "callID")
	p["tool"] = rapid.SampledFrom([]string{"read", "read", "bash"}).Draw(t, "tool")
	state := obj{"status": rapid.SampledFrom([]string{"completed", "completed", "error", "running", "pending"}).Draw(t, "status")}
	maybe(state, "input", obj{}, obj{"a": 1}, obj{"a": strings.Repeat("x", 900)})
	maybe(state, "output", contents...)
	maybe(state, "error", contents...)
	maybe(state, "attachments", []obj{}, []obj{{"type": "file", "mime": "image/png", "url": "data:b"}})
	maybe(state, "metadata", obj{"interrupted": true, "output": "a"}, obj{"interrupted": true, "output": ""}, obj{"interrupted": true}, obj{"output": "a"})
	maybe(state, "time", obj{"compacted": 3}, obj{"start": 1})
	p["state"] = state
	return p
}

// drawChange changes one field of p as a harness would, or draws another part.
func drawChange(t *rapid.T, p obj) obj {
	other := drawPart(t)
	was, is := p["state"], other["state"]
	if rapid.IntRange(0, 3).Draw(t, "replaced") == 0 || was == nil || is == nil {
		return other
	}
	state := maps.Clone(was.(obj))
	name := rapid.SampledFrom([]string{"status", "input", "output", "error", "attachments", "metadata", "time", "time"}).Draw(t, "field")
	if v, ok := is.(obj)[name]; ok {
		state[name] = v
	} else {
		delete(state, name)
	}
	p = maps.Clone(p)
	p["state"] = state
	return p
}

func drawEdits(t *rapid.T, state *frozen.State, sessions ...*Session) []frozen.Edit {
	open := map[int]bool{}
	for _, s := range sessions {
		for _, it := range s.entries[0].items {
			open[it.Tag] = open[it.Tag] || it.Open
		}
	}
	var edits []frozen.Edit
	for _, u := range state.Units() {
		kinds := []frozen.EditKind{frozen.NoEdit, frozen.NoEdit, frozen.Unthink, frozen.Shell}
		switch {
		case open[u.Tag]:
		case u.Kind == frozen.ToolUnit:
			kinds = append(kinds, frozen.Clamp, frozen.Skeleton, frozen.Drop)
		default:
			kinds = append(kinds, frozen.Strip, frozen.Compress, frozen.Drop)
		}
		if kind := rapid.SampledFrom(kinds).Draw(t, "edit"); kind != frozen.NoEdit {
			edits = append(edits, frozen.Edit{Tag: u.Tag, Kind: kind, Level: 2})
		}
	}
	return edits
}

// OpenCode does not send an answer that failed. So if a unit in such an answer is dropped, the host must not patch the
// message: the provider would never see the placeholder.
func TestDropDoesNotShowAHiddenMessage(t *testing.T) {
	w := newWorld(t, true, 1)
	answer := func(info obj) mjson.Value {
		return message("a1", "assistant", w.now, info, obj{"id": "p2", "type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA"})
	}
	w.add(message("u1", "user", w.now, nil, textPart("p1", "q")), answer(nil))
	w.pass()
	w.replace(1, answer(obj{"error": obj{"name": "APIError"}}))
	w.add(message("u2", "user", w.now, nil, textPart("p3", "more")))
	w.queue(2)
	w.readings.Flush = true
	w.pass()
	if got := w.patches["a1"]; len(got) > 0 {
		t.Errorf("the drop changes the message by %v", got)
	}
}
