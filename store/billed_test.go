package store

import (
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

func TestDroppedUnitsCarryTheirPassAndRule(t *testing.T) {
	s := openIn(t, t.TempDir())
	first := commit(key, 1)
	first.Edits = []EditRow{{Tag: 1, Kind: "skeleton", Pass: 1, Payload: "tiered drop"}, {Tag: 2, Kind: "unthink", Pass: 1, Payload: "old reasoning"}}
	must(t, s.CommitPass(t.Context(), first))
	second := commit(key, 2)
	second.Pass.Cause = "pressure"
	second.Edits = []EditRow{{Tag: 1, Kind: "drop", Pass: 2, Payload: "old skeletons"}}
	must(t, s.CommitPass(t.Context(), second))
	rows, err := s.Reports.DroppedUnits(t.Context(), key)
	must(t, err)
	if len(rows) != 1 {
		t.Fatalf("%d rows, want one for the unit that is gone: %+v", len(rows), rows)
	}
	want := EditRow{Tag: 1, Kind: "drop", Pass: 2, Payload: "old skeletons"}
	if r := rows[0]; r.Edit != want || r.Cause != "pressure" || r.At != second.Pass.At || r.Tag != 1 {
		t.Errorf("got %+v", r)
	}
}

func TestTitleOfAnUnknownSessionIsNotStored(t *testing.T) {
	s := openIn(t, t.TempDir())
	isKnown, err := s.SaveTitle(t.Context(), key, "early")
	must(t, err)
	if _, found, err := s.Reports.Session(t.Context(), key); isKnown || found || err != nil {
		t.Errorf("known %t, found %t, error %v", isKnown, found, err)
	}
	must(t, s.CommitPass(t.Context(), commit(key, 1)))
	isKnown, err = s.SaveTitle(t.Context(), key, "late")
	must(t, err)
	must(t, s.CommitPass(t.Context(), commit(key, 2))) // a pass does not change the title
	if sum, _, err := s.Reports.Session(t.Context(), key); !isKnown || sum.Title != "late" || err != nil {
		t.Errorf("known %t, title %q, error %v", isKnown, sum.Title, err)
	}
}

func TestBilledPassesHaveThePriceOfABustThatWasMade(t *testing.T) {
	s := openIn(t, t.TempDir())
	for n := 1; n <= 3; n++ {
		p := commit(key, n)
		p.Pass.Price = schema.BustPrice{Resent: 700, Removed: 80}
		if n == 2 { // this pass only weighed a bust
			p.Pass.Verdict = "steady"
		} else { // this pass changed the head and dropped nothing
			p.Pass.Verdict, p.Pass.EditsAdded = "hard", 0
		}
		must(t, s.CommitPass(t.Context(), p))
	}
	must(t, s.SaveUsage(t.Context(), key, 2, 1, 2, 3))
	rows, err := s.Reports.BilledPasses(t.Context(), key, 0, 3)
	must(t, err)
	if len(rows) != 2 || rows[0].Removed != 80 || rows[0].Usage != (Usage{}) || rows[1].Removed != 0 || rows[1].Usage != (Usage{1, 2, 3}) {
		t.Errorf("got %+v", rows)
	}
}
