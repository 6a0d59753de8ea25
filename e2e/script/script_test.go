package script

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
)

func TestScriptIsAFunctionOfItsOptions(t *testing.T) {
	o := Options{
		Project: "/p",
		Files:   map[string]string{"a.go": "package a // with a long enough line\n", "b.go": "package b // with a long enough line\n"},
		Steps:   []int{5, 20},
		Drops:   map[int]string{7: "3-5"},
		Seed:    1,
	}
	first, second := Write(o), Write(o)
	if diff := cmp.Diff(first, second, cmp.AllowUnexported(mockllm.Block{}), cmpopts.EquateComparable()); diff != "" {
		t.Errorf("two scripts from the same options differ:\n%s", diff)
	}
	if got := Steps(first); got != 25 {
		t.Errorf("%d steps, want 25", got)
	}
}

// In both harnesses, the calls must have the same order, so that the tags are the same.
func TestScriptsOfBothHarnessesHaveTheSameSteps(t *testing.T) {
	o := Options{
		Project: "/p",
		Files:   map[string]string{"a.go": "package a // with a long enough line\n", "b.go": "package b // with a long enough line\n"},
		Steps:   []int{25},
		Seed:    1,
	}
	openCode := Write(o)
	o.Tools = Pi
	pi := Write(o)
	for i := range openCode[0].Steps {
		a, b := openCode[0].Steps[i].Blocks, pi[0].Steps[i].Blocks
		if len(a) != len(b) {
			t.Errorf("step %d has %d blocks for OpenCode and %d for Pi", i, len(a), len(b))
		}
	}
}
