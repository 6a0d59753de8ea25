package history

import "testing"

func TestScale(t *testing.T) {
	for usage, want := range map[float64]float64{0: 1, 79.9: 1, 80: 0.5, 94.9: 0.5, 95: 0.25, 120: 0.25} {
		if got := Scale(usage); got != want {
			t.Errorf("Scale(%v) = %v, want %v", usage, got, want)
		}
	}
}

func TestLevelOf(t *testing.T) {
	for usage, want := range map[float64]Level{0: 0, 62.9: 0, 63: 1, 79.9: 1, 80: 2, 120: 2} {
		if got := LevelOf(usage, 65); got != want {
			t.Errorf("a usage of %v at a threshold of 65 has level %d, want %d", usage, got, want)
		}
	}
}
