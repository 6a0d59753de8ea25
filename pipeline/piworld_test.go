package pipeline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	mjson "github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// The tests write their messages in OpenCode's format. toPi translates them into steps of
// Pi, so that both codecs run through the same histories.

// bothCodecs runs a test for each harness.
func bothCodecs(t *testing.T, run func(t *testing.T, codec transcript.Codec)) {
	t.Helper()
	for _, h := range []schema.Harness{schema.HarnessOpenCode, schema.HarnessPi} {
		codec, _ := transcript.CodecOf(string(h))
		t.Run(string(h), func(t *testing.T) { run(t, codec) })
	}
}

// toPi returns a message of OpenCode as a step of Pi. A proof of thinking keeps its
// length, and with it the size of the wire.
func toPi(t testing.TB, raw mjson.Value) mjson.Value {
	t.Helper()
	m := transcript.OpenCode{}.Decode(raw)
	content, results := []any{}, []any{}
	for i := range m.Parts {
		p := &m.Parts[i]
		switch p.Kind {
		case transcript.Text:
			if p.Hidden && p.Text != "" {
				continue // a status, which Pi would not put into the array
			}
			content = append(content, obj{"type": "text", "text": p.Text})
		case transcript.Reasoning:
			b := obj{"type": "thinking", "thinking": p.Text}
			if p.Signature != nil {
				b["thinkingSignature"] = "sig-" + p.Text + strings.Repeat("x", max(0, len(p.Signature)-len(`"sig-"`)-len(p.Text)))
				b["redacted"] = p.Text == ""
			}
			content = append(content, b)
		case transcript.File:
			_, data, _ := strings.Cut(p.URL, ";base64,")
			content = append(content, obj{"type": "image", "data": data, "mimeType": p.Mime})
		case transcript.Tool:
			content = append(content, obj{"type": "toolCall", "id": p.CallID, "name": p.Name, "arguments": p.Input})
			if p.HasResult() {
				blocks := []any{obj{"type": "text", "text": p.Text}}
				if len(p.Attachments) > 0 {
					blocks = append(blocks, obj{"type": "image", "data": onePixel, "mimeType": "image/png"})
				}
				results = append(results, obj{"role": "toolResult", "toolCallId": p.CallID, "content": blocks, "isError": p.IsError, "timestamp": m.Completed})
			}
		case transcript.Other:
			if !p.Hidden {
				content = append(content, p.Raw)
			}
		}
	}
	message := obj{"role": string(m.Role), "content": content, "timestamp": m.Created, "provider": m.Model.Provider, "model": m.Model.ID}
	if m.Role == transcript.Assistant {
		message["stopReason"] = map[transcript.Finish]string{transcript.EndsTurn: "stop", transcript.EndsWithCalls: "toolUse", transcript.EndsOtherwise: "length"}[m.Finish]
		if m.Errored {
			message["stopReason"] = "aborted"
		}
		message["usage"] = obj{"input": m.Usage.Input, "output": m.Usage.Output, "cacheRead": m.Usage.CacheRead, "cacheWrite": m.Usage.CacheWrite}
	}
	step := obj{"id": m.Key, "message": message}
	if len(results) > 0 {
		step["results"] = results
	}
	v, err := mjson.Marshal(step)
	must(t, err)
	return v
}

// inHarness returns a message of OpenCode in the format of the world's harness.
func (w *world) inHarness(raw mjson.Value) mjson.Value {
	if w.isPi() {
		return toPi(w.t, raw)
	}
	return raw
}

func (w *world) isPi() bool { _, is := w.codec.(transcript.Pi); return is }

// askModel does what Pi's shim does: it names the model of the request, because the
// messages do not. toPi notes the model in the user message, where no codec looks for it.
func (w *world) askModel() {
	if !w.isPi() {
		return
	}
	for i := len(w.raw) - 1; i >= 0; i-- {
		var step struct {
			Message struct {
				Role     string `json:"role"`
				Provider string `json:"provider"`
				Model    string `json:"model"`
			} `json:"message"`
		}
		must(w.t, mjson.Unmarshal(w.raw[i], &step))
		if step.Message.Role == "user" {
			w.session.AskModel(schema.Model{Provider: step.Message.Provider, ID: step.Message.Model})
			return
		}
	}
}

// setUsage makes an answer report a prompt of so many tokens.
func (w *world) setUsage(i, tokens int) {
	codec := w.codec
	usage := codec.UsageValue(transcript.Usage{Input: tokens})
	paths := codec.Vocabulary().Paths
	raw, err := render.Apply(w.raw[i], schema.Patch{{Op: "add", Path: paths.Usage, Value: usage}})
	must(w.t, err)
	w.raw[i] = raw
	w.held = min(w.held, i)
}

// The same conversation in both harnesses gives the same units, tags, token counts,
// decisions and journal. Left out is what the harnesses do not share: Pi has no todo tool,
// no agents, and no messages that nobody sends.
func TestBothHarnessesDecideAlike(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newLife(rt, t, transcript.OpenCode{}, true)
		one := h.w
		two := newWorldOf(t, transcript.Pi{}, one.prefixes, one.readings.Knobs.ProtectedTags)
		two.profileOf, two.bindsOf = one.profileOf, one.bindsOf
		h.twin = two
		for range rapid.IntRange(3, 25).Draw(rt, "steps") {
			queued := len(one.store.queue)
			sent := one.sent
			h.step()
			raw := make([]mjson.Value, len(one.raw))
			for i := range one.raw {
				raw[i] = toPi(t, one.raw[i])
			}
			two.raw, two.held, two.now = raw, min(two.held, sameUntil(two.raw, raw)), one.now
			two.readings, two.busy = one.readings, one.busy
			if one.sent != sent {
				two.sent = "" // the request left without the host
			}
			for _, q := range one.store.queue[min(queued, len(one.store.queue)):] {
				two.queue(q.Tag)
			}
			one.pass()
			two.pass()
			if diff := cmp.Diff(journalOf(one), journalOf(two), cmp.AllowUnexported(Assessment{})); diff != "" {
				rt.Fatalf("OpenCode (-) and Pi (+):\n%s", diff)
			}
			if one.text() != two.text() {
				rt.Fatalf("in OpenCode:\n%s\nin Pi:\n%s", one.text(), two.text())
			}
		}
	})
}

// A journal is what a pass leaves behind, without the names that differ between harnesses.
type journal struct {
	Units    []frozen.Unit
	Decision Decision
	Setup    frozen.Setup
	Queue    []int
	// These are of the wire.
	Messages, Tokens, Bytes, PrefixTokens, LostBlocks, LostTokens int
	Bust                                                         bool
	BustCause                                                    string
	Lost                                                         []string
}

func journalOf(w *world) journal {
	j := journal{
		Decision: w.decision, Setup: w.session.State.Setup, Messages: w.result.Wire.Messages, Tokens: w.result.Tokens, Bytes: w.result.Bytes,
		PrefixTokens: w.result.PrefixTokens, LostBlocks: w.result.LostBlocks, LostTokens: w.result.LostTokens,
		Bust: w.result.Bust, BustCause: w.result.BustCause, Lost: w.result.Lost,
	}
	for _, u := range w.session.State.Units() {
		u.Key, u.Fingerprint = "", 0
		j.Units = append(j.Units, u)
	}
	for _, q := range w.session.State.Queue() {
		j.Queue = append(j.Queue, q.Tag)
	}
	return j
}
