//go:build !race

package tokens

import (
	"strings"
	"testing"
)

// The race detector makes sync.Pool forget at random.

func TestCountDoesNotAllocateWhenWarm(t *testing.T) {
	text := sample(10_000) + strings.Repeat("字", 2_000)
	Count(text)
	if n := testing.AllocsPerRun(20, func() { Count(text) }); n >= 1 { // the pool may be emptied by a collection
		t.Errorf("%v allocations", n)
	}
}
