package pipeline

import (
	"slices"

	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// Model returns the model that the newest user message asks.
func (s *Session) Model() schema.Model {
	if m := s.asked(); m.ID != "" {
		return m
	}
	return s.Meta.Model
}

// asked returns the model that the newest user message of the array asks, the
// zero Model if none names one.
func (s *Session) asked() schema.Model {
	if len(s.entries) == 0 {
		return schema.Model{}
	}
	return s.entries[len(s.entries)-1].head.asked
}

// lastUse returns when the provider last had the prefix before it, Unix ms, 0
// for never: when the model answered, or a pass made it a request that is not
// answered yet. Else an idle session would bust with each pass until the answer
// (bug class A10).
func (s *Session) lastUse() int64 {
	answered := s.lastResponse()
	if answered == 0 {
		return 0
	}
	return max(answered, s.Meta.At)
}

// lastResponse returns when the model last answered, Unix ms, 0 for never.
func (s *Session) lastResponse() int64 {
	for _, e := range slices.Backward(s.entries) {
		if e.head.role == transcript.Assistant {
			return max(e.head.created, e.head.completed)
		}
	}
	return 0
}

// AnsweredAt returns when the newest answer that the provider measured was
// complete, Unix ms, 0 for never.
func (s *Session) AnsweredAt() int64 {
	for _, e := range slices.Backward(s.entries) {
		if e.head.role == transcript.Assistant && e.head.usage.Prompt() > 0 {
			return e.head.completed
		}
	}
	return 0
}

// isMidTurn reports whether the newest assistant step ended in tool calls whose
// results the model has not read. An error ends a turn.
func (s *Session) isMidTurn() bool {
	for _, e := range slices.Backward(s.entries) {
		if e.head.role == transcript.Assistant {
			if e.head.errored {
				return false
			}
			return e.head.finish == "tool-calls" || e.head.finish == "" && e.head.hasTools
		}
	}
	return false
}
