package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// A Rule proposes edits.
type Rule struct {
	Name string
	// On is the occasion from which the rule is asked.
	On Occasion
	// Propose returns what the rule wants. It is pure.
	Propose func(View, Knobs) []frozen.Edit
}

// Occasion says which busting passes ask a rule.
type Occasion int

// The occasions, each after those before it.
const (
	// AnyBust: the rule loses nothing that the model needs, so it rides along
	// with every bust.
	AnyBust Occasion = iota
	// Pressure: the rule takes content to free what the episode still needs.
	Pressure
	// Force: only from the force level on (85 %).
	Force
	// Emergency: only when the next request would not fit (95 %).
	Emergency
)

// Table is the rules, in the order in which they propose. A later rule sees
// what the earlier ones have done: what they have freed is not freed again.
var Table = []Rule{
	{"queued drops", AnyBust, QueuedDrops},
	{"stale ctx_reduce calls", AnyBust, StaleReduceCalls},
	{"duplicate calls", AnyBust, DuplicateCalls},
	{"superseded writes", AnyBust, SupersededWrites},
	{"old errors", AnyBust, OldErrors},
	{"processed images", AnyBust, ProcessedImages},
	{"injected blocks", AnyBust, InjectedBlocks},
	{"old reasoning", AnyBust, OldReasoning},
	{"old text", AnyBust, OldText},
	{"tool reclaim", Pressure, ToolReclaim},
	{"old skeletons", Force, OldSkeletons},
	{"tiered drop", Force, TieredDrop},
	{"spent narration", Pressure, SpentNarration},
	{"protected results", Emergency, ProtectedResults},
	{"oldest texts", Emergency, OldestTexts},
	{"empty shells", AnyBust, EmptyShells},
}

// A Proposal is what the rules want together.
type Proposal struct {
	Edits []frozen.Edit
	// Freed is the tokens that they take off the wire, estimated.
	Freed int
	// By counts the tokens freed by each rule, by name.
	By map[string]int
}

// Propose asks the rules of the table up to the view's occasion. The state is
// left as it was.
func Propose(v View, k Knobs) Proposal {
	p := Proposal{By: make(map[string]int)}
	var undo frozen.Undo
	thoughts, unread := v.thoughts(), v.unread()
	for _, r := range Table {
		if r.On > v.Occasion {
			continue
		}
		v.Need = v.Goal.of(r.On) - p.Freed
		if r.On > AnyBust && v.Need <= 0 {
			continue
		}
		for _, e := range r.Propose(v, k) {
			if unread[e.Tag] {
				// Only what was asked for, and its call stays: the request has to end
				// with something to answer.
				if !v.State.Queued(e.Tag) {
					continue
				}
				e.Kind = frozen.Skeleton
			}
			u := v.State.ByTag(e.Tag)
			if u == nil || u.Covers(e) {
				continue
			}
			freed := u.Freed(e)
			if e.Kind == frozen.Unthink {
				freed = thoughts[e.Tag]
			}
			p.Freed += freed
			if freed > 0 {
				p.By[r.Name] += freed
			}
			p.Edits = append(p.Edits, e)
			undo = append(undo, v.State.Freeze([]frozen.Edit{e})...)
		}
	}
	v.State.Thaw(undo)
	return p
}
