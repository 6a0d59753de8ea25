package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// A Rule proposes edits.
type Rule struct {
	Name string
	// On is the mildest occasion on which the rule is asked.
	On Occasion
	// Propose returns the edits that the rule wants. It is pure.
	Propose func(View, Knobs) []frozen.Edit
}

// Occasion says how far a busting pass goes, and so which rules it asks.
type Occasion int

// The occasions, from the mildest to the gravest. A pass asks the rules of its
// own occasion and of all milder ones.
const (
	// AnyBust: the rule takes nothing that the model needs, so every bust asks
	// it.
	AnyBust Occasion = iota
	// Pressure: the rule takes content to free the tokens that the episode
	// still needs.
	Pressure
	// Force: the rule is asked from the force level on (85 %).
	Force
	// Emergency: the rule is asked only if the next request would not fit (from
	// 95 % on).
	Emergency
)

// Table lists the rules in the order in which they propose. A later rule sees
// the edits of the earlier ones, so that nothing is freed twice.
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
	{"spent reasoning", Pressure, SpentReasoning},
	{"empty shells", AnyBust, EmptyShells},
}

// A Proposal holds the edits of all rules that were asked.
type Proposal struct {
	Edits []frozen.Edit
	// Reasons holds the reason of each edit, in the order of Edits.
	Reasons []Reason
	// Freed estimates how many tokens the edits take off the wire.
	Freed int
	// By holds the tokens that each rule frees, by the name of the rule.
	By map[string]int
	// After is the state with the edits laid over it.
	After *frozen.Overlay
}

// A Reason says which rule has proposed an edit, for example "tool reclaim", and how
// many tokens the edit takes off the wire by our estimate.
type Reason struct {
	Rule  string
	Freed int
}

// Propose asks the rules of the table up to the view's occasion.
func Propose(v View, k Knobs) Proposal {
	v.State = v.State.Clone()
	p := Proposal{By: make(map[string]int), After: v.State}
	thoughts, unread, separating, visible := v.thoughts(), v.unread(), v.separating(), v.items()
	lastCalls := v.lastCalls()
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
				// The model has not read this result. Only a queued drop may
				// touch it, and then the call stays as a skeleton, because the
				// request has to end with something to answer.
				if !v.State.Queued(e.Tag) {
					continue
				}
				e.Kind = frozen.Skeleton
			}
			if arcs := lastCalls[e.Tag]; e.Kind == frozen.Drop && (separating[e.Tag] || arcs != nil && v.areDroppedBut(e.Tag, arcs)) {
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
			if _, ok := visible[e.Tag]; !ok {
				freed = 0 // a reverted unit is in no prompt, so dropping it frees nothing
			}
			p.Freed += freed
			if freed > 0 {
				p.By[r.Name] += freed
			}
			p.Edits, p.Reasons = append(p.Edits, e), append(p.Reasons, Reason{r.Name, freed})
			v.State.Lay(e)
		}
	}
	return p
}
