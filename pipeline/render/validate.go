package render

import (
	"bytes"
	"strings"

	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// A Violation is a rule of the provider that a wire breaks.
type Violation struct {
	Rule string `json:"rule"`
	// Message is the key of the message where it shows.
	Message string `json:"message"`
}

// The rules of the validator.
const (
	RulePair      = "pair"         // every call has its result, and every result its call
	RuleAdjacent  = "adjacent"     // a result follows its call with nothing but calls and results between
	RuleUnique    = "unique-id"    // no two calls share an id
	RuleEmpty     = "empty"        // no blank text block
	RuleFirst     = "first-role"   // the first message is the user's
	RuleLast      = "last-role"    // the newest message asks for an answer
	RuleSignature = "signature"    // signed reasoning is what the model wrote
	RuleUserStays = "user-missing" // a user message that came in goes out
)

// Rendered is one message before and after its patch.
type Rendered struct{ Raw, Wire WireMessage }

// Position says which end of the whole wire the checked messages reach.
type Position struct{ First, Last bool }

// Validate returns the rules of p that the wire of msgs breaks and their raw
// form does not: what the harness itself does wrong is not ours to repair.
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

// atEnd is v without its message for the rules about the ends of the wire: when
// the harness sends an array that ends wrong, it is still that array which ends
// wrong if another message is the last one now.
func atEnd(v Violation) Violation {
	if v.Rule == RuleFirst || v.Rule == RuleLast {
		v.Message = ""
	}
	return v
}

// keepsSignatures reports whether each signed block of wire is one of raw, in order.
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

// check walks messages as the provider would.
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
