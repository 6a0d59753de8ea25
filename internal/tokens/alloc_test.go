//go:build !race

package tokens

import (
	"strings"
	"testing"
)

// This test is left out under the race detector, because that makes sync.Pool drop items at random.

func TestCountDoesNotAllocateWhenWarm(t *testing.T) {
	text := sample(10_000) + strings.Repeat("字", 2_000)
	Count(text)
	if n := testing.AllocsPerRun(20, func() { Count(text) }); n >= 1 { // a garbage collection may empty the pool
		t.Errorf("%v allocations", n)
	}
}
