package replay

import (
	"fmt"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// A recount replaces the recorded usage with the usage that the simulated provider reports. This is necessary if the
// replay has other rules, another window or another mode, because the recorded usage then belongs to other prompts.
//
// But a replay with recorded runs keeps the recorded usage as long as it sends the recorded prompts. With another
// usage, the session would have another pressure, and the historian would ask a question that the trace does not
// contain.
type recount struct {
	on bool
	// `counted` holds the usage of each answer, by the time at which the answer began. A fork copies messages with new
	// ids, but with the same times, so the times also identify the copies.
	counted map[int64]promptcache.Tokens
	// `unseen` is the number of tokens that the trace does not show, mainly the definitions of tools: the recorded size
	// of the first prompt minus its simulated size.
	unseen int
	began  bool
}

// learn computes the number of unseen tokens from the first answer. last is the simulated usage of this answer's pass.
func (r *recount) learn(m *transcript.Message, last *promptcache.Tokens) {
	if !r.began && last != nil && m.Role == transcript.Assistant && m.Usage.Prompt() > 0 {
		r.unseen, r.began = max(0, m.Usage.Prompt()-last.Prompt()), true
	}
}

func newRecount(on bool) *recount {
	return &recount{on: on, counted: make(map[int64]promptcache.Tokens)}
}

// patch replaces the usage of an answer with the usage of the session's newest pass in this replay. If the answer began
// before the trace, it keeps its recorded usage.
func (r *recount) patch(codec transcript.Codec, m *transcript.Message, ses *session) schema.Patch {
	last := ses.counted
	if !r.on || m.Role != transcript.Assistant || m.Usage.Prompt() == 0 {
		return nil
	}
	t, known := r.counted[m.Created]
	if !known {
		if last == nil {
			return nil
		}
		r.learn(m, last)
		t = *last
		if ses.isRecorded {
			t = promptcache.Tokens{Fresh: m.Usage.Input, Write: m.Usage.CacheWrite, Read: m.Usage.CacheRead}
		} else if t.Read > 0 { // definitions of tools come first in a prompt, so if anything is read from the cache, they are read, too
			t.Read += r.unseen
		} else {
			t.Write += r.unseen
		}
		r.counted[m.Created] = t
	}
	value := codec.UsageValue(transcript.Usage{Input: t.Fresh, Output: m.Usage.Output, CacheRead: t.Read, CacheWrite: t.Write})
	return schema.Patch{{Op: "replace", Path: codec.Vocabulary().Paths.Usage, Value: value}}
}

func (p *player) retell(ses *session, attachment json.Value) (json.Value, error) {
	isAsRecorded := p.overrides.mode == nil && p.overrides.profile == nil && !p.recount.on
	if isAsRecorded && p.recount.began {
		return attachment, nil
	}
	messages, err := messagesOf(attachment, 0)
	if err != nil {
		return nil, err
	}
	codec := p.trace.codec
	paths := &codec.Vocabulary().Paths
	for i, raw := range messages {
		m := codec.Decode(raw)
		p.recount.learn(&m, ses.counted)
		patched, err := render.Apply(raw, append(p.overrides.patch(paths, &m), p.recount.patch(codec, &m, ses)...))
		if err != nil {
			return nil, fmt.Errorf("message %s: %w", m.Key, err)
		}
		messages[i] = patched
	}
	if isAsRecorded {
		return attachment, nil
	}
	return json.Marshal(messages)
}

// retellEvent replaces the usage in an event with the usage that the event's pass has in this replay.
func (p *player) retellEvent(params json.Value) (json.Value, error) {
	var e schema.EventParams
	if err := json.Unmarshal(params, &e); err != nil || !p.recount.on && !p.trace.cassette.hasTakes() {
		return params, err
	}
	codec := p.trace.codec
	paths := &codec.Vocabulary().Paths
	event, err := codec.Event(e.Event)
	if err != nil || event.Kind != transcript.MessageChanged {
		return params, err
	}
	ses := p.session(e.Session)
	m := &event.Message
	if ses.isRecorded && ses.last != nil && !m.Errored && m.Usage.Prompt() > 0 {
		ses.last.isAccepted = true
	}
	if !p.recount.on {
		return params, nil
	}
	patch := p.recount.patch(codec, m, ses)
	isUnknown := patch == nil && m.Usage.Prompt() > 0 // this answer belongs to a pass before the trace
	if isUnknown || p.overrides.window > 0 && ses.counted != nil && ses.counted.Prompt()+p.recount.unseen > p.overrides.window {
		// The recorded provider has accepted the prompt, but it may not fit into the window of this replay. A usage
		// would claim that it does, so the usage is removed.
		patch = schema.Patch{{Op: "remove", Path: paths.Usage}}
	}
	for i := range patch {
		patch[i].Path = "/event" + paths.EventMessage + patch[i].Path
	}
	return render.Apply(params, patch)
}
