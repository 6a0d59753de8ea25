package nudge

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// maxOldest bounds the tags that a reminder names.
const maxOldest = 4

// A Pile is the tool output of a session that the model could drop now.
type Pile struct {
	// Reclaimable is its tokens.
	Reclaimable int
	// Live is the tokens of all that is active, arguments of tools included.
	Live int
	// Oldest are the first units of the pile.
	Oldest []Unit
}

// A Unit names a unit to the model.
type Unit struct {
	Tag int
	// Tool is empty where the harness did not name it.
	Tool string
}

// Measure weighs the pile: the results of active tool units below the newest
// protected active units, which the model could not drop yet (B19). What it has
// marked already is none of it. The cost is one look at each unit.
func Measure(state *frozen.State, protected int) Pile {
	queued := make(map[int]bool)
	for _, q := range state.Queue() {
		queued[q.Tag] = true
	}
	units := state.Units()
	below := protectedFrom(units, protected)
	var p Pile
	for i := range units {
		u := &units[i]
		if !u.Active() {
			continue
		}
		p.Live += u.Tokens + u.InputTokens
		if u.Kind != frozen.ToolUnit || u.Tag >= below || queued[u.Tag] {
			continue
		}
		p.Reclaimable += u.Tokens
		if len(p.Oldest) < maxOldest {
			p.Oldest = append(p.Oldest, Unit{u.Tag, u.Tool})
		}
	}
	return p
}

// protectedFrom returns the tag of the n-th newest active unit, 0 where there
// are fewer: then all are protected.
func protectedFrom(units []frozen.Unit, n int) int {
	for i := len(units) - 1; i >= 0; i-- {
		if units[i].Active() {
			if n--; n == 0 {
				return units[i].Tag
			}
		}
	}
	return 0
}
