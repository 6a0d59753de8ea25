package pipeline

import (
	"slices"

	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// AskModel sets the model of the next request. Pass the zero Model if the harness's user messages already name the
// model: the method Model then reads it from the messages.
func (s *memo) AskModel(m schema.Model) { s.askedModel = m }

// Model returns the model of the next request: the model set by AskModel, or else the model that the newest user
// message names, or else the model of the last pass.
func (s *memo) Model() schema.Model {
	if s.askedModel.ID != "" {
		return s.askedModel
	}
	if m := s.asked(); m.ID != "" {
		return m
	}
	return s.Meta.Model
}

func (s *array) asked() schema.Model {
	if len(s.entries) == 0 {
		return schema.Model{}
	}
	return s.entries[len(s.entries)-1].header.asked
}

func (s *array) agent() string {
	if len(s.entries) == 0 {
		return ""
	}
	return s.entries[len(s.entries)-1].header.agent
}

// lastUse returns when the provider last used the prefix, in Unix milliseconds, or 0. The last pass also counts as a
// use, because its request may be unanswered. Otherwise, an idle session would bust on every pass until an answer
// arrives (A10 in docs/defects.md).
//
// If the clock was set back, stored times can be in the future. lastUse ignores these times. Otherwise, the session
// would not count as idle until the clock reaches them. If there is no other time, it returns now.
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

// lastResponse returns the time of the newest answer in Unix milliseconds.
func (s *array) lastResponse() (at int64, ok bool) {
	for _, e := range slices.Backward(s.entries) {
		if e.header.role == transcript.Assistant {
			return max(e.header.created, e.header.completed), true
		}
	}
	return 0, false
}

// AnsweredAt returns the time at which the newest answer with a usage was complete, in Unix milliseconds, or 0 if there
// is no such answer.
func (s *array) AnsweredAt() int64 {
	for _, e := range slices.Backward(s.entries) {
		if e.header.role == transcript.Assistant && e.header.usage.Prompt() > 0 {
			return e.header.completed
		}
	}
	return 0
}

// Answer returns the usage of the answer to the last pass's request, and when this answer was complete, in Unix
// milliseconds. ok is false if there is no such usage.
func (s *Session) Answer() (usage transcript.Usage, completed int64, ok bool) {
	for _, e := range slices.Backward(s.entries) {
		if e.header.role == transcript.Assistant {
			h := &e.header
			return h.usage, h.completed, s.Meta.At > 0 && h.completed >= s.Meta.At && h.usage.Prompt() > 0
		}
	}
	return transcript.Usage{}, 0, false
}

// A failed answer ends the turn.
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
