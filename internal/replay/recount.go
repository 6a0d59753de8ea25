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

// retellEvent returns an event as this replay tells it: a step's usage is that of
// its pass here.
func (p *player) retellEvent(params json.Value) (json.Value, error) {
	var e schema.EventParams
	if err := json.Unmarshal(params, &e); err != nil || !p.recount.on {
		return params, err
	}
	var event struct {
		Type       string `json:"type"`
		Properties struct {
			Info json.Value `json:"info"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(e.Event, &event); err != nil {
		return params, err
	}
	if event.Type != "message.updated" {
		return params, nil
	}
	ses := p.session(e.Session)
	raw := json.Value(`{"info":` + string(event.Properties.Info) + `}`)
	m := ses.mirror.codec.Decode(raw)
	patch := p.recount.patch(&m, ses.counted)
	isUnknown := patch == nil && m.Usage.Prompt() > 0 // of a pass before the trace
	if isUnknown || p.overrides.window > 0 && ses.counted != nil && ses.counted.Prompt()+p.recount.unseen > p.overrides.window {
		// A recorded answer proves nothing of the window that is tried here.
		patch = schema.Patch{{Op: "remove", Path: "/info/tokens"}}
	}
	for i := range patch {
		patch[i].Path = "/event/properties" + patch[i].Path
	}
	return render.Apply(params, patch)
}
