package format

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDiffHoldsBothSides(t *testing.T) {
	line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n"})
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SliceOf(line).Draw(t, "a"), rapid.SliceOf(line).Draw(t, "b")
		var gotA, gotB []string
		for _, l := range diffLines(a, b) {
			if l.op != '+' {
				gotA = append(gotA, l.text)
			}
			if l.op != '-' {
				gotB = append(gotB, l.text)
			}
		}
		if strings.Join(gotA, "") != strings.Join(a, "") || strings.Join(gotB, "") != strings.Join(b, "") {
			t.Fatalf("diff of %q and %q holds %q and %q", a, b, gotA, gotB)
		}
	})
}
