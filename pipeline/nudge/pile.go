package nudge

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// maxOldest bounds how many tags a reminder names.
const maxOldest = 4

// A Pile is the tool output of a session that the model could drop now.
type Pile struct {
	// Reclaimable is the size of the pile in tokens.
	Reclaimable int
	// Live is the size in tokens of all active units, including tool arguments.
	Live int
	// Oldest lists the first units of the pile.
	Oldest []Unit
}

// A Unit identifies a unit in a text for the model.
type Unit struct {
	Tag int
	// Tool is empty if the harness did not name the tool.
	Tool string
}

// Measure returns the pile: the results of active tool units. It leaves out three kinds of units: the newest active
// units, as many as protected says, because the model could not drop them yet (bug class B19 in docs/defects.md); the
// units that the model has already marked; and the units that the user keeps.
func Measure(state *frozen.Overlay, protected int) Pile {
	below := protectedFrom(state, protected)
	var p Pile
	for u := range state.Units() {
		if !u.Active() {
			continue
		}
		p.Live += u.Tokens + u.InputTokens
		if u.Kind != frozen.ToolUnit || u.Tag >= below || state.Queued(u.Tag) || u.Kept != 0 {
			continue
		}
		p.Reclaimable += u.Tokens
		if len(p.Oldest) < maxOldest {
			p.Oldest = append(p.Oldest, Unit{u.Tag, u.Tool})
		}
	}
	return p
}

// protectedFrom returns the tag of the n-th newest active unit. If there are fewer, it returns 0, which means that all
// units are protected.
func protectedFrom(state *frozen.Overlay, n int) int {
	for u := range state.UnitsFromNewest() {
		if u.Active() {
			if n--; n == 0 {
				return u.Tag
			}
		}
	}
	return 0
}
