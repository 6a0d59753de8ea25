package nudge

import "github.com/magicctx/magicctx-host/pipeline/frozen"

const maxOldest = 4

type Pile struct {
	// Reclaimable is the size of the pile in tokens.
	Reclaimable int
	// Live is the size in tokens of all active units, including tool arguments.
	Live int
	// Oldest lists the oldest units of the pile, at most maxOldest.
	Oldest []Unit
}

type Unit struct {
	Tag int
	// Tool is empty if the harness did not name the tool.
	Tool string
}

// Measure returns the tool output that the model could drop. It leaves out units that are queued or kept. It also
// leaves out the newest units (`protected` is their number), because the model cannot drop them yet (bug class B19 in
// docs/defects.md).
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

// protectedFrom returns the tag of the oldest protected unit. It returns 0 if all units are protected.
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
