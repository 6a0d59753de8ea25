package mode_test

import (
	"slices"
	"testing"

	"github.com/magicctx/magicctx-host/internal/mode"
)

func TestEachNameStandsForOneMode(t *testing.T) {
	// The names are stored in databases, so they never change.
	want := []string{"primary", "primary-no-reduce", "subagent", "subagent-no-reduce"}
	if got := mode.Names(); !slices.Equal(got, want) {
		t.Fatalf("names %q, want %q", got, want)
	}
	seen := map[mode.Mode]string{}
	for _, name := range want {
		m, err := mode.Parse(name)
		if err != nil || m.String() != name || seen[m] != "" {
			t.Errorf("%q is %+v (%v), which is %q; the same as %q", name, m, err, m, seen[m])
		}
		seen[m] = name
	}
	for _, name := range []string{"", "Primary", "primary-", "no-reduce"} {
		if m, err := mode.Parse(name); err == nil {
			t.Errorf("%q is %v", name, m)
		}
	}
}
