package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// SkeletonWindow is how many of the newest tool units keep a skeleton when
// they are dropped (spec transform §3).
const SkeletonWindow = 20

// Knobs are the settings that rules read.
type Knobs struct {
	// ProtectedTags is how many of the newest active units an agent's drop
	// must wait for.
	ProtectedTags int
}

// View is what a rule may look at.
type View struct {
	State *frozen.State
	// Complete reports whether the unit, if it is visible, may be edited: a
	// tool arc without a result may not.
	Complete func(frozen.Unit) bool
	// PrefixIsGone says that the provider has nothing cached any more (a hard
	// pass), so that nothing is worth waiting for.
	PrefixIsGone bool
}

// A Rule proposes edits.
type Rule struct {
	Name    string
	Propose func(View, Knobs) []frozen.Edit
}

// Table is the rules, in the order in which they propose. A unit that an
// earlier rule has edited is not active for a later one.
var Table = []Rule{
	{"queued drops", QueuedDrops},
}

// Propose asks every rule of the table and returns what they want, at most one
// edit per unit. The state is left as it was.
func Propose(v View, k Knobs) []frozen.Edit {
	var all []frozen.Edit
	for _, r := range Table {
		edits := r.Propose(v, k)
		v.State.Freeze(edits)
		all = append(all, edits...)
	}
	v.State.Thaw(all)
	return all
}
