package replay

import (
	"fmt"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// A recount replaces the usage that a trace reports by what the simulated
// provider has counted in the replay: the recorded prompts were those of the
// rules, the window and the mode of their day.
type recount struct {
	on bool
	// counted is the usage of each answer, by when it began: a fork's copies of
	// messages have ids of their own and the times of their originals.
	counted map[int64]promptcache.Tokens
	// unseen is what the real prompts hold and the trace does not (definitions
	// of tools, most of all), in tokens: the recorded size of the first prompt
	// less the simulated one.
	unseen int
	began  bool
}

func newRecount(on bool) *recount {
	return &recount{on: on, counted: make(map[int64]promptcache.Tokens)}
}

// patch gives an answer the usage of the pass that it answers, last. An answer
// that began before the trace keeps what was recorded.
func (r *recount) patch(m *transcript.Message, last *promptcache.Tokens) schema.Patch {
	if !r.on || m.Role != transcript.Assistant || m.Usage.Prompt() == 0 {
		return nil
	}
	t, known := r.counted[m.Created]
	if !known {
		if last == nil {
			return nil
		}
		if !r.began {
			r.unseen, r.began = max(0, m.Usage.Prompt()-last.Prompt()), true
		}
		t = *last
		if t.Read > 0 { // tools stand before everything else
			t.Read += r.unseen
		} else {
			t.Write += r.unseen
		}
		r.counted[m.Created] = t
	}
	type cache struct {
		Read  int `json:"read"`
		Write int `json:"write"`
	}
	value, _ := json.Marshal(struct { // numbers always encode
		Input     int   `json:"input"`
		Output    int   `json:"output"`
		Reasoning int   `json:"reasoning"`
		Cache     cache `json:"cache"`
	}{Input: t.Fresh, Output: m.Usage.Output, Cache: cache{t.Read, t.Write}})
	return schema.Patch{{Op: "replace", Path: "/info/tokens", Value: value}}
}

// retell returns the messages of a step as this replay tells them.
func (p *player) retell(ses *session, attachment json.Value) (json.Value, error) {
	if p.overrides.mode == "" && p.overrides.profile == "" && !p.recount.on {
		return attachment, nil
	}
	var messages []json.Value
	if err := json.Unmarshal(attachment, &messages); err != nil {
		return nil, fmt.Errorf("messages: %w", err)
	}
	for i, raw := range messages {
		m := ses.mirror.codec.Decode(raw)
		patched, err := render.Apply(raw, append(p.overrides.patch(&m), p.recount.patch(&m, ses.counted)...))
		if err != nil {
			return nil, fmt.Errorf("message %s: %w", m.Key, err)
		}
		messages[i] = patched
	}
	return json.Marshal(messages)
}
