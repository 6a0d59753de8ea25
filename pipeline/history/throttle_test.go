package history

import (
	"slices"
	"testing"
)

// The throttle of the reference implementation allows a number of tokens in ten minutes. Our throttle counts passes
// instead, so its result does not depend on the time.
func TestThrottleCountsNoTime(t *testing.T) {
	demand := func(pass int, usage float64) Demand {
		s := Snapshot{Usage: usage, Reads: 60_000, Cap: 49_920}
		if usage >= EmergencyUsage {
			s.Cap = 99_840
		}
		return Demand{Pass: pass, Snapshot: s, Room: 83_200, LowMark: 45}
	}
	var throttle Throttle
	first := throttle.Next(demand(1, 50))
	if want := (Grant{Way: ByModel, Tokens: 49_920}); first != want {
		t.Fatalf("first run: %+v, want %+v", first, want)
	}
	once := throttle.Begun(1, first).Failed(1, first, 49_920, 0)
	failed := once.Begun(1, first).Failed(1, first, 24_960, 0)
	for _, c := range []struct {
		name string
		of   Throttle
		ask  Demand
		want Grant
	}{
		{"one run has failed", once, demand(2, 50), Grant{Way: ByModel, Tokens: 49_920}},
		{"spent, above the low mark", failed, demand(2, 50), Grant{Way: Extractive}},
		{"spent, below the low mark", failed, demand(2, 40), Grant{Way: Wait}},
		{"spent, below the low mark, much later", failed, demand(1+forgotten, 40), Grant{Way: ByModel, Tokens: 49_920}},
		{"in an emergency", failed, demand(2, 95), Grant{Way: ByModel, Tokens: 60_000}},
		{"after a compartment of a model", failed.Published(ByModel), demand(2, 50), Grant{Way: ByModel, Tokens: 49_920}},
		{"after an extractive compartment", failed.Published(Extractive), demand(2, 50), Grant{Way: Extractive}},
	} {
		if got := c.of.Next(c.ask); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestThrottleBacksOff(t *testing.T) {
	d := Demand{Snapshot: Snapshot{Usage: 82, Reads: 1000, Cap: 20_000}, Room: 83_200, LowMark: 40}
	for runs, want := range []int{0, 1, 2, 4, 6, 6} { // the fifth run would come after 8 passes, but after 6 passes the host makes an extract
		throttle := Throttle{Runs: runs, Tokens: 10, Pass: 100}
		waits := 0
		for d.Pass = 100; ; d.Pass++ {
			g := throttle.Next(d)
			if g.Way != Wait {
				if g.IsFault != (waits >= maxWaited) || (g.Way == Extractive) != g.IsFault {
					t.Errorf("after %d runs: %+v", runs, g)
				}
				break
			}
			waits, throttle = waits+1, throttle.Waits()
		}
		if waits != want {
			t.Errorf("after %d runs without result: %d passes, want %d", runs, waits, want)
		}
	}
	d.Pass, d.Snapshot.Usage = 100, 96
	if g := (Throttle{Runs: 4, Tokens: 10, Pass: 100}).Next(d); g.Way != ByModel {
		t.Errorf("an emergency waits: %+v", g)
	}
}

func TestThrottleCountsMoney(t *testing.T) {
	d := Demand{Pass: 9, Snapshot: Snapshot{Usage: 70, Reads: 1000, Cap: 20_000}, Room: 83_200, LowMark: 40, Price: 2}
	// The fallback costs ten times as much as the planned model.
	dear := Throttle{Runs: 2, Tokens: 4000, Money: 80_000, Pass: 1}
	if g := dear.Next(d); g.Way != Extractive {
		t.Errorf("money is spent: %+v", g)
	}
	d.Price = 0 // the price is unknown
	if g := dear.Next(d); g.Way != ByModel {
		t.Errorf("without a price: %+v", g)
	}
	if g := (Throttle{}).Next(Demand{Pass: 9, Snapshot: d.Snapshot, Room: 83_200, LowMark: 40, Price: 2}); g.Way != ByModel {
		t.Errorf("nothing is spent: %+v", g)
	}
}

func TestThrottleCountsTheTokensThatWereRead(t *testing.T) {
	g := Grant{Way: ByModel, Tokens: 1000}
	begun := Throttle{Waited: 3}.Begun(7, g)
	if want := (Throttle{Runs: 1, Tokens: 1000, Pass: 7}); begun != want {
		t.Errorf("begun: %+v, want %+v", begun, want)
	}
	if got, want := begun.Failed(9, g, 2500, 0.5), (Throttle{Runs: 1, Tokens: 2500, Money: 0.5, Pass: 9}); got != want {
		t.Errorf("failed: %+v, want %+v", got, want)
	}
	if got := begun.Waits().Published(Extractive); got.Waited != 0 || got.Runs != 1 {
		t.Errorf("after an extractive compartment: %+v", got)
	}
}

func TestRetryPassIsTheFirstWithAModel(t *testing.T) {
	d := Demand{Pass: 100, Snapshot: Snapshot{Usage: 30, Tokens: 1000, Cap: 20_000}, Room: 83_200, LowMark: 40}
	for name, throttle := range map[string]Throttle{
		"nothing failed": {}, "one run": {Runs: 1, Tokens: 10, Pass: 100}, "three runs": {Runs: 3, Tokens: 10, Pass: 100},
		"tokens are spent": {Runs: 2, Tokens: 100_000, Pass: 100},
	} {
		want, wait := throttle.RetryPass(d), throttle
		for d.Pass = 100; wait.Next(d).Way != ByModel; d.Pass++ {
			wait = wait.Waits()
		}
		if d.Pass != want {
			t.Errorf("%s: a model is asked on pass %d, and the status names %d", name, d.Pass, want)
		}
		d.Pass = 100
	}
}

// Fixed bug: as long as the session lasted, the host asked failing models again every 50 passes. Now each wait is twice
// as long as the one before.
func TestThrottleForgetsMoreAndMoreSlowly(t *testing.T) {
	d := Demand{Snapshot: Snapshot{Usage: 50, Reads: 20_000, Cap: 20_000}, Room: 83_200, LowMark: 40}
	var throttle Throttle
	var asked []int
	for d.Pass = 1; d.Pass <= 1000; d.Pass++ {
		switch g := throttle.Next(d); g.Way {
		case ByModel:
			asked = append(asked, d.Pass)
			throttle = throttle.Begun(d.Pass, g).Failed(d.Pass, g, 60_000, 0)
		case Extractive:
			throttle = throttle.Published(Extractive)
		case Wait:
			throttle = throttle.Waits()
		}
	}
	want := []int{1, 2}
	for _, rest := range []int{1, 2, 4, 8} {
		begin := want[len(want)-1] + rest*forgotten
		want = append(want, begin, begin+1)
	}
	if !slices.Equal(asked, want) {
		t.Errorf("asked on the passes %v, want %v", asked, want)
	}
	if got := throttle.Published(ByModel); got != (Throttle{}) {
		t.Errorf("after a compartment of a model: %+v", got)
	}
}
