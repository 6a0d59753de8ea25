package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	mjson "github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/pipeline/transcript/transcripttest"
	"github.com/magicctx/magicctx-host/schema"
)

// The tests write their messages in OpenCode's format. toPi and toOpenCode2 translate them, so all codecs play the same
// sessions.

func bothCodecs(t *testing.T, run func(t *testing.T, codec transcript.Codec)) {
	t.Helper()
	for _, h := range schema.Harnesses {
		codec, _ := transcript.CodecOf(string(h))
		t.Run(string(h), func(t *testing.T) { run(t, codec) })
	}
}

func toPi(t testing.TB, raw mjson.Value) mjson.Value {
	t.Helper()
	step, err := transcripttest.ToPi(raw)
	must(t, err)
	return step
}

func toOpenCode2(t testing.TB, raw mjson.Value) mjson.Value {
	t.Helper()
	step, err := transcripttest.ToOpenCode2(raw)
	must(t, err)
	return step
}

func (w *world) inHarness(raw mjson.Value) mjson.Value {
	switch w.codec.(type) {
	case transcript.Pi:
		return toPi(w.t, raw)
	case transcript.OpenCode2:
		return toOpenCode2(w.t, raw)
	case transcript.OpenCode:
		return raw
	}
	w.t.Fatalf("no translation of messages for %T", w.codec)
	return nil
}

func (w *world) isPi() bool { _, is := w.codec.(transcript.Pi); return is }

func (w *world) isOpenCode1() bool { _, is := w.codec.(transcript.OpenCode); return is }

// askModel tells the session which model the next request is for. The real shims report this model outside the
// messages, but a test has only messages. So toPi and toOpenCode2 write the model into a field of the user message that
// no codec reads, and askModel reads it there.
func (w *world) askModel() {
	if w.isOpenCode1() {
		return
	}
	for i := len(w.raw) - 1; i >= 0; i-- {
		var step struct {
			Message struct {
				Role     string `json:"role"`
				Provider string `json:"provider"`
				Model    string `json:"model"`
			} `json:"message"`
			Info struct {
				Asked struct {
					Provider string `json:"provider"`
					Model    string `json:"model"`
				} `json:"asked"`
			} `json:"info"`
		}
		must(w.t, mjson.Unmarshal(w.raw[i], &step))
		if asked := step.Info.Asked; asked.Model != "" {
			w.session.AskModel(schema.Model{Provider: asked.Provider, ID: asked.Model})
			return
		}
		if step.Message.Role == "user" {
			w.session.AskModel(schema.Model{Provider: step.Message.Provider, ID: step.Message.Model})
			return
		}
	}
}

func (w *world) setUsage(i, tokens int) {
	codec := w.codec
	usage := codec.UsageValue(transcript.Usage{Input: tokens})
	paths := codec.Vocabulary().Paths
	raw, err := render.Apply(w.raw[i], schema.Patch{{Op: "add", Path: paths.Usage, Value: usage}})
	must(w.t, err)
	w.raw[i] = raw
	w.held = min(w.held, i)
}

// TestHarnessesDecideAlike plays each session in two harnesses. It leaves out features that only some harnesses have:
// todo lists and messages that are never sent (only in OpenCode 1), and agents (not in Pi).
func TestHarnessesDecideAlike(t *testing.T) {
	for _, codec := range []transcript.Codec{transcript.OpenCode2{}, transcript.Pi{}} {
		t.Run(strings.TrimPrefix(fmt.Sprintf("%T", codec), "transcript."), func(t *testing.T) { decidesLikeOpenCode1(t, codec) })
	}
}

func decidesLikeOpenCode1(t *testing.T, codec transcript.Codec) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newLife(rt, t, transcript.OpenCode{}, true)
		one := h.w
		two := newWorldOf(t, codec, one.prefixes, one.readings.Knobs.ProtectedTags)
		two.profileOf, two.bindsOf = one.profileOf, one.bindsOf
		h.twin = two
		for range rapid.IntRange(3, 25).Draw(rt, "steps") {
			queued := len(one.store.queue)
			sent := one.sent
			h.step()
			raw := make([]mjson.Value, len(one.raw))
			for i := range one.raw {
				raw[i] = two.inHarness(one.raw[i])
			}
			two.raw, two.held, two.now = raw, min(two.held, sameUntil(two.raw, raw)), one.now
			two.readings, two.busy = one.readings, one.busy
			if one.sent != sent {
				two.sent = "" // the request was sent without the host
			}
			for _, q := range one.store.queue[min(queued, len(one.store.queue)):] {
				two.queue(q.Tag)
			}
			one.pass()
			two.pass()
			if diff := cmp.Diff(journalOf(one), journalOf(two), cmp.AllowUnexported(Assessment{})); diff != "" {
				rt.Fatalf("OpenCode 1 (-) and this harness (+):\n%s", diff)
			}
			if one.text() != two.text() {
				rt.Fatalf("in OpenCode 1:\n%s\nin this harness:\n%s", one.text(), two.text())
			}
		}
	})
}

// A journal holds the results of a pass that must be equal in all harnesses. It leaves out names that differ between
// them.
type journal struct {
	Units    []frozen.Unit
	Decision Decision
	Setup    frozen.Setup
	Queue    []int
	// The next fields describe the wire.
	Messages, Tokens, PrefixTokens, LostBlocks, LostTokens int
	Bust                                                   bool
	BustCause                                              string
	Lost                                                   []string
}

func journalOf(w *world) journal {
	j := journal{
		Decision: w.decision, Setup: w.session.State.Setup, Messages: w.result.Wire.Messages, Tokens: w.result.Tokens,
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
