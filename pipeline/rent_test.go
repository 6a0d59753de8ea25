package pipeline

import (
	"fmt"
	"testing"

	"github.com/magicctx/magicctx-host/internal/route"
)

func TestCliffRaisesTheRentOfMessages(t *testing.T) {
	coverable := func(cliff route.Cliff) int {
		w := hundreds(t, 12)
		w.readings.WorkingSet, w.readings.Route.Cliff = 500, cliff
		w.add(said("a", "assistant", 10, 1500), said("later", "user", 10, 0))
		w.pass()
		return w.session.Meta.Rent.Coverable
	}
	flat, beyond, below := coverable(route.Cliff{}), coverable(route.Cliff{Above: 1400, Factor: 5}), coverable(route.Cliff{Above: 1_000_000, Factor: 5})
	if flat <= 0 || beyond < 5*flat || below != flat {
		t.Errorf("the rent of the messages: %d without a cliff, %d beyond one, %d below one", flat, beyond, below)
	}
}

// A bust for drops does not reset the rent of the messages that a summary could replace. So if a summary of these
// messages is published right after such a bust, their rent may already pay for another bust.
func TestSummaryHasItsRentAfterABustForDrops(t *testing.T) {
	w := newWorld(t, true, 1)
	w.readings.BuysForRent, w.readings.WorkingSet = true, 500
	for i := range 40 {
		w.add(said(fmt.Sprintf("u%d", i), "user", 500, 0), said(fmt.Sprintf("a%d", i), "assistant", 500, 1000*i+500))
		w.pass()
	}
	w.queue(43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63, 65, 67, 69)
	for i := 40; i < 120 && w.decision.Cause != CauseRent; i++ {
		w.add(said(fmt.Sprintf("u%d", i), "user", 10, 0))
		w.pass()
	}
	if w.decision.Cause != CauseRent {
		t.Fatalf("no bust for the drops: %+v %+v", w.session.Meta.Rent, w.decision)
	}
	w.readings.History = &History{}
	w.publish(59, 50)
	w.add(said("next", "user", 10, 0))
	w.pass()
	if w.decision.Cause != CauseRent || w.decision.Head == nil {
		t.Errorf("%s, the rent is %+v", w.decision.Cause, w.session.Meta.Rent)
	}
}
