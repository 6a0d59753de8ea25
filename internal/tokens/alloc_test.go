//go:build !race

package tokens

import (
	"strings"
	"testing"
)

// The race detector makes sync.Pool drop items at random, so this test does not run with it.

func TestCountDoesNotAllocateWhenWarm(t *testing.T) {
	text := sample(10_000) + strings.Repeat("字", 2_000)
	Count(text)
	if n := testing.AllocsPerRun(20, func() { Count(text) }); n >= 1 { // a garbage collection may empty the pool once
		t.Errorf("%v allocations", n)
	}
}
