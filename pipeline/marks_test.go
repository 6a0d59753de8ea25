package pipeline

import "testing"

// What age protects may be more than the high mark. Aiming at it would end every
// bust above the mark, and the next one would come a few steps later.
func TestLowMarkIsAtMostHalfOfTheHighOne(t *testing.T) {
	for _, floor := range []int{0, 500, 999, 1000, 1001, 5000} {
		m := marks{high: 1000, floor: floor, growth: 10, price: TypicalPrice}
		if low := m.low(); low > m.high/2 || low < min(floor, m.high/2) {
			t.Errorf("with a floor of %d tokens the low mark is %d, the high one %d", floor, low, m.high)
		}
	}
}
