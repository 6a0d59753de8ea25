package pipeline

import (
	"slices"

	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// AskModel sets the model of the next request, if the harness's messages do not name it. The zero Model means that the
// messages name it.
func (s *memo) AskModel(m schema.Model) { s.askedModel = m }

// Model returns the model of the next request: the model given to AskModel, or else the model that the newest user
// message names. If neither is known, it returns the last pass's model.
func (s *memo) Model() schema.Model {
	if s.askedModel.ID != "" {
		return s.askedModel
	}
	if m := s.asked(); m.ID != "" {
		return m
	}
	return s.Meta.Model
}

// asked returns the model that the newest user message of the array asks for, the zero
// Model if no message names one.
func (s *array) asked() schema.Model {
	if len(s.entries) == 0 {
		return schema.Model{}
	}
	return s.entries[len(s.entries)-1].header.asked
}

// agent returns the agent that the messages have named last, or "" if no message names
// one.
func (s *array) agent() string {
	if len(s.entries) == 0 {
		return ""
	}
	return s.entries[len(s.entries)-1].header.agent
}

// lastUse returns the last time when the provider used the prefix, in Unix milliseconds, 0 for never. It is the time of
// the model's newest answer or of the last pass, whichever is later. The last pass counts because its request may still
// be unanswered: otherwise an idle session would bust on every pass until the answer arrives (A10 in docs/defects.md).
// If the harness does not know an answer's time, the time is 0.
//
// If the clock was set back, stored times can lie in the future. They are ignored, because with them the session would
// not become idle until the clock reaches them. If all stored times lie in the future, the prefix counts as just used,
// and the next pass uses the time of this pass.
func (s *Session) lastUse(now int64) int64 {
	answered, ok := s.lastResponse()
	if !ok {
		return 0
	}
	last := int64(-1)
	for _, at := range []int64{answered, s.Meta.At} {
		if at <= now {
			last = max(last, at)
		}
	}
	if last < 0 {
		return now
	}
	return last
}

// lastResponse returns the time of the model's newest answer in Unix milliseconds. If
// there is no answer, ok is false.
func (s *array) lastResponse() (at int64, ok bool) {
	for _, e := range slices.Backward(s.entries) {
		if e.header.role == transcript.Assistant {
			return max(e.header.created, e.header.completed), true
		}
	}
	return 0, false
}

// AnsweredAt returns when the newest answer with a reported usage was complete, in
// Unix milliseconds, 0 for never.
func (s *array) AnsweredAt() int64 {
	for _, e := range slices.Backward(s.entries) {
		if e.header.role == transcript.Assistant && e.header.usage.Prompt() > 0 {
			return e.header.completed
		}
	}
	return 0
}

// Answer returns the usage that the provider reported for the last pass's request, and when the answer was complete, in
// Unix milliseconds. While there is no such report, ok is false.
func (s *Session) Answer() (usage transcript.Usage, completed int64, ok bool) {
	for _, e := range slices.Backward(s.entries) {
		if e.header.role == transcript.Assistant {
			h := &e.header
			return h.usage, h.completed, s.Meta.At > 0 && h.completed >= s.Meta.At && h.usage.Prompt() > 0
		}
	}
	return transcript.Usage{}, 0, false
}

// isMidTurn reports whether the newest assistant step ended in tool calls whose
// results the model has not read yet. A failed answer ends the turn.
func (s *array) isMidTurn() bool {
	for _, e := range slices.Backward(s.entries) {
		if e.header.role == transcript.Assistant {
			if e.header.errored {
				return false
			}
			return e.header.finish == transcript.EndsWithCalls || e.header.finish == transcript.Unfinished && e.header.hasTools
		}
	}
	return false
}
