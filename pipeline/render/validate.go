package render

import (
	"bytes"
	"strings"

	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// A Violation is a provider's rule that a wire breaks.
type Violation struct {
	Rule string `json:"rule"`
	// Message is the key of the message that breaks the rule.
	Message string `json:"message"`
}

const (
	RulePair      = "pair"         // every call has its result, and every result its call
	RuleAdjacent  = "adjacent"     // only calls and results are between a call and its result
	RuleUnique    = "unique-id"    // no two calls share an id
	RuleEmpty     = "empty"        // no text block is blank
	RuleFirst     = "first-role"   // the first message is the user's
	RuleLast      = "last-role"    // the newest message is the user's or a tool result, so that it can be answered
	RuleSignature = "signature"    // signed reasoning is unchanged
	RuleUserStays = "user-missing" // every user message of the raw array is on the wire
	RuleThinking  = "thinking"     // if the newest step of a tool loop started with thinking, it still does
)

type Rendered struct{ Raw, Wire WireMessage }

// Position says whether the checked messages include the first and the last message of the wire.
type Position struct {
	First, Last bool
	// Continues means that the provider joins the newest message with the answer before it, even in the raw array. The
	// newest message is then not a step of its own, so RuleThinking does not apply.
	Continues bool
	// Binds means that the model binds its thinking. Such a model accepts a step without thinking, so RuleThinking does
	// not apply.
	Binds bool
}

func Whole(msgs []Rendered, binds bool) Position {
	at := Position{First: true, Last: true, Binds: binds}
	last := len(msgs) - 1
	for last >= 0 && len(msgs[last].Wire.Blocks) == 0 {
		last--
	}
	before := last - 1
	for before >= 0 && len(msgs[before].Raw.Blocks) == 0 {
		before--
	}
	at.Continues = before >= 0 && msgs[before].Raw.FusesWithNext()
	return at
}

// Validate returns the places at which the wire of msgs breaks the requirements of p. If the raw array has the same
// violation, Validate leaves it out, because the host does not repair mistakes of the harness.
func Validate(p Profile, msgs []Rendered, at Position) []Violation {
	wires := make([]WireMessage, 0, len(msgs))
	raws := make([]WireMessage, 0, len(msgs))
	var hits []Violation
	for i := range msgs {
		raw, wire := &msgs[i].Raw, &msgs[i].Wire
		raws, wires = append(raws, *raw), append(wires, *wire)
		if raw.Role == transcript.User && len(raw.Blocks) > 0 && len(wire.Blocks) == 0 {
			hits = append(hits, Violation{RuleUserStays, wire.Key})
		}
		if p.ChecksSignatures && !keepsSignatures(raw, wire) {
			hits = append(hits, Violation{RuleSignature, wire.Key})
		}
	}
	if hit, ok := lostThinking(p, msgs, at); ok {
		hits = append(hits, hit)
	}
	known := make(map[Violation]bool)
	for _, v := range check(p, raws, at) {
		known[atEnd(v)] = true
	}
	for _, v := range check(p, wires, at) {
		if !known[atEnd(v)] {
			hits = append(hits, v)
		}
	}
	return hits
}

// While thinking is on, Anthropic refuses a final assistant message that has calls and does not start with thinking.
func lostThinking(p Profile, msgs []Rendered, at Position) (Violation, bool) {
	if !p.ChecksSignatures || !p.FusesAssistants || !at.Last || at.Continues || at.Binds {
		return Violation{}, false
	}
	for i := len(msgs) - 1; i >= 0; i-- {
		raw, wire := &msgs[i].Raw, &msgs[i].Wire
		if len(wire.Blocks) == 0 {
			continue
		}
		isLoop := raw.Role == transcript.Assistant && !wire.FusesWithNext()
		thought := isLoop && raw.Blocks[0].Kind == ReasoningBlock && raw.Blocks[0].Signature != nil
		return Violation{RuleThinking, wire.Key}, thought && wire.Blocks[0].Kind != ReasoningBlock
	}
	return Violation{}, false
}

// atEnd removes the message from a violation of a rule about the first or last message. Otherwise, the same violation
// of the raw array and of the wire might name different messages, and the host would get the blame for the harness's
// mistake.
func atEnd(v Violation) Violation {
	if v.Rule == RuleFirst || v.Rule == RuleLast {
		v.Message = ""
	}
	return v
}

func keepsSignatures(raw, wire *WireMessage) bool {
	rest := raw.Blocks
	for i := range wire.Blocks {
		b := &wire.Blocks[i]
		if b.Kind != ReasoningBlock || b.Signature == nil {
			continue
		}
		found := false
		for len(rest) > 0 && !found {
			r := &rest[0]
			found = r.Kind == ReasoningBlock && r.Text == b.Text && bytes.Equal(r.Signature, b.Signature)
			rest = rest[1:]
		}
		if !found {
			return false
		}
	}
	return true
}

func check(p Profile, msgs []WireMessage, at Position) []Violation {
	var hits []Violation
	hit := func(rule, key string) { hits = append(hits, Violation{rule, key}) }
	open := make(map[string]string) // call id -> message key
	seen := make(map[string]bool)
	first, last := true, (*WireMessage)(nil)
	closeCalls := func() {
		for id, key := range open {
			hit(RulePair, key)
			delete(open, id)
		}
	}
	for i := range msgs {
		m := &msgs[i]
		if len(m.Blocks) == 0 {
			continue
		}
		if first && at.First && m.Role != transcript.User {
			hit(RuleFirst, m.Key)
		}
		first, last = false, m
		for j := range m.Blocks {
			b := &m.Blocks[j]
			switch b.Kind {
			case CallBlock:
				if seen[b.ID] {
					hit(RuleUnique, m.Key)
				}
				seen[b.ID], open[b.ID] = true, m.Key
				continue
			case ResultBlock:
				if _, ok := open[b.ID]; !ok {
					hit(RulePair, m.Key)
				}
				delete(open, b.ID)
				continue
			case TextBlock:
				if !p.DropsEmptyText && strings.TrimSpace(b.Text) == "" {
					hit(RuleEmpty, m.Key)
				}
			}
			if len(open) > 0 {
				hit(RuleAdjacent, m.Key)
				clear(open)
			}
		}
	}
	closeCalls()
	if p.LastIsUser && at.Last && last != nil && last.Role == transcript.Assistant {
		if last.Blocks[len(last.Blocks)-1].Kind != ResultBlock {
			hit(RuleLast, last.Key)
		}
	}
	return hits
}
