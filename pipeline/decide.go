package pipeline

import (
	"slices"
	"time"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// Readings are the facts of the moment that a pass is decided on.
type Readings struct {
	// Now is Unix milliseconds.
	Now int64
	// LimitTokens is the model's prompt limit, 0 when nobody knows.
	LimitTokens int
	// Threshold is the execute threshold in percent of the limit.
	Threshold float64
	TTL       time.Duration
	Subagent  bool
	// Flush says that the user asked for a bust.
	Flush bool
	Knobs rule.Knobs
}

// A Decision is what a pass adds to the frozen state.
type Decision struct {
	Verdict schema.Verdict
	Cause   Cause
	Edits   []frozen.Edit
	// Drained are the tags whose queued drop is done with.
	Drained []int
	// Model is the one that the pass is for.
	Model schema.Model
	// InputTokens is the size of the last prompt that the provider reported,
	// Percent the same as pressure.
	InputTokens int
	Percent     float64
}

// Steady returns the decision without what it would have added, for when that
// could not be stored.
func (d Decision) Steady(cause Cause) Decision {
	d.Verdict, d.Cause, d.Edits, d.Drained = schema.Steady, cause, nil, nil
	return d
}

// Decide returns what the pass over the current transcript adds. It changes nothing.
func (s *Session) Decide(r Readings) Decision {
	d := Decision{Model: s.Model(), InputTokens: s.lastPrompt()}
	limit := r.LimitTokens
	if limit <= 0 {
		limit = DefaultLimitTokens
	}
	d.Percent = float64(d.InputTokens) / float64(limit) * 100
	d.Verdict, d.Cause = Schedule(Signals{
		FirstPass:    s.Meta.Passes == 0,
		ModelChanged: s.Meta.Passes > 0 && d.Model != s.Meta.Model,
		Flush:        r.Flush, Subagent: r.Subagent, MidTurn: s.isMidTurn(),
		Percent: d.Percent, Threshold: r.Threshold,
		Now: r.Now, LastResponse: s.lastResponse(), TTL: r.TTL,
	})
	if d.Verdict == schema.Steady {
		return d
	}
	d.Edits = rule.Propose(rule.View{State: s.State, Complete: s.isComplete, PrefixIsGone: d.Verdict == schema.Hard}, r.Knobs)
	d.Drained = s.drained(d.Edits)
	if d.Verdict == schema.Soft && len(d.Edits) == 0 && d.Cause != CauseFlush {
		return d.Steady(CauseNothingToDo)
	}
	return d
}

// drained lists the queued drops that edits settle, and those of units that
// already have their edit.
func (s *Session) drained(edits []frozen.Edit) []int {
	edited := make(map[int]bool, len(edits))
	for _, e := range edits {
		edited[e.Tag] = true
	}
	var tags []int
	for _, q := range s.State.Queue() {
		if u := s.State.ByTag(q.Tag); edited[q.Tag] || u == nil || !u.Active() {
			tags = append(tags, q.Tag)
		}
	}
	return tags
}

// isComplete reports whether a unit may be edited: one that is not visible may,
// a visible tool arc needs its result first (B12).
func (s *Session) isComplete(u frozen.Unit) bool {
	i, visible := s.index[u.MessageKey]
	return !visible || !slices.Contains(s.entries[i].open, u.Tag)
}

// Model returns the model that the newest user message asks.
func (s *Session) Model() schema.Model {
	for _, e := range slices.Backward(s.entries) {
		if e.head.role == transcript.User && e.head.model.ID != "" {
			return e.head.model
		}
	}
	return s.Meta.Model
}

// lastPrompt returns the prompt tokens of the newest step that reported any.
// They come from the transcript and not from events, so that a restarted host
// knows the same.
func (s *Session) lastPrompt() int {
	for _, e := range slices.Backward(s.entries) {
		if n := e.head.usage.Prompt(); e.head.role == transcript.Assistant && n > 0 {
			return n
		}
	}
	return 0
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
