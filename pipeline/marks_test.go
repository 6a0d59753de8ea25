package pipeline

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/schema"
)

var quarterAndTenth = schema.Price{Fresh: 1, Write: 1.25, Read: 0.1}

// The expected marks were calculated by hand: reading costs r·(H+L)/2, and writing costs (w−r)·(L−P) spread over
// (H−L)/growth steps. H and L are the high and the low mark, P is the prefix, w and r are the prices of writing and
// reading a token.
func TestBill(t *testing.T) {
	for _, c := range []struct {
		name string
		m    marks
		low  int
		want float64
	}{
		{"reading 0.1·60, writing 1.15·10 over 20 steps", marks{high: 100, prefix: 10, growth: 4, price: quarterAndTenth}, 20, 6 + 0.575},
		{"what the provider still has is not written", marks{high: 100, prefix: 30, growth: 4, price: quarterAndTenth}, 20, 6},
		{"a growth nobody knows is one token a step", marks{high: 100, prefix: 10, price: quarterAndTenth}, 20, 6 + 11.5/80},
		{"a write that costs no more than a read", marks{high: 100, growth: 4, price: schema.Price{Write: 0.5, Read: 1}}, 20, 60},
	} {
		if got := c.m.bill(c.low); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestLowMark(t *testing.T) {
	for _, c := range []struct {
		name string
		m    marks
		want int
	}{
		{"with a floor above, half of the high mark", marks{high: 1000, floor: 600, growth: 10, price: quarterAndTenth}, 500},
		{"at half, too", marks{high: 1000, floor: 500, growth: 10, price: quarterAndTenth}, 500},
		// Only reading costs here: 0.1·(1000+L)/2 may be 5 % more than 0.1·500, so L is 50.
		{"five percent dearer than the floor of nothing", marks{high: 1000, prefix: 1000, growth: 10, price: quarterAndTenth}, 50},
		{"than a floor of 200", marks{high: 1000, floor: 200, prefix: 1000, growth: 10, price: quarterAndTenth}, 260},
	} {
		if got := c.m.low(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// If the prompt grows fast, one bust soon follows another, and each bust writes the remaining content again. So the low
// mark must be lower.
func TestLowMarkFollowsGrowth(t *testing.T) {
	m := marks{high: 100_000, price: quarterAndTenth}
	m.growth = 100
	slow := m.low()
	m.growth = 10_000
	if fast := m.low(); fast >= slow {
		t.Errorf("fast %d, slow %d", fast, slow)
	}
}

func TestLowMarkIsTheHighestWithinTheSlack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := marks{
			high:   rapid.IntRange(10, 3000).Draw(t, "high"),
			prefix: rapid.IntRange(0, 1000).Draw(t, "prefix"),
			growth: rapid.IntRange(0, 500).Draw(t, "growth"),
			price:  schema.Price{Write: rapid.Float64Range(0.01, 4).Draw(t, "write"), Read: rapid.Float64Range(0.01, 4).Draw(t, "read")},
		}
		m.floor = rapid.IntRange(0, m.high).Draw(t, "floor")
		want := m.high / 2
		if m.floor < m.high/2 {
			want = m.floor
			for low := m.floor; low < m.high/2; low++ {
				if m.bill(low) <= 1.05*m.bill(m.floor) {
					want = low
				}
			}
		}
		if got := m.low(); got != want {
			t.Fatalf("%+v: %d, want %d", m, got, want)
		}
	})
}
