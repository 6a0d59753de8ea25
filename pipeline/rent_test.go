package pipeline

import (
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
