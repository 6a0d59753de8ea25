package frozen_test

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
)

// Parts counts the same size for a unit whether or not the head covers it. Only the unit's edits change the counted
// size.
func TestPartsCountAUnitByItsEdits(t *testing.T) {
	unit := func(kind frozen.UnitKind, edit frozen.EditKind, isCovered bool) *frozen.Unit {
		u := &frozen.Unit{Kind: kind, Tokens: 100, InputTokens: 10}
		u.Edit, u.Covered = edit, isCovered
		return u
	}
	for _, isCovered := range []bool{false, true} {
		var c frozen.Parts
		c.Add(unit(frozen.ToolUnit, "", isCovered))
		c.Add(unit(frozen.ToolUnit, frozen.Skeleton, isCovered))
		c.Add(unit(frozen.ToolUnit, frozen.Drop, isCovered))
		c.Add(unit(frozen.TextUnit, frozen.Drop, isCovered))
		c.Add(&frozen.Unit{Kind: frozen.TextUnit, Tokens: 7})
		c.Add(&frozen.Unit{Kind: frozen.FileUnit, Tokens: 3})
		if want := (frozen.Parts{Text: 7, Files: 3, Inputs: 20, Results: 100}); c != want || c.Tokens() != 130 {
			t.Errorf("covered %v: %+v, want %+v", isCovered, c, want)
		}
	}
}
