package advisories

import "testing"

// The bug: for months, the tools used a go-git with nine known weaknesses.
func TestNoModuleHasAKnownWeakness(t *testing.T) {
	for _, dir := range []string{"../..", ".."} {
		found, err := Modules(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range found {
			t.Errorf("%s: %s", dir, line)
		}
	}
}

func TestAnOldVersionIsFound(t *testing.T) {
	all, err := weaknesses("# a comment\n\nexample.org/a v1.2.0 GO-1\nexample.org/b v1.0.0 GO-2 GO-3\nstdlib v1.26.6 GO-4\n")
	if err != nil {
		t.Fatal(err)
	}
	got := of(map[string]string{"example.org/a": "v1.2.0", "example.org/b": "v0.9.9", "stdlib": "v1.26"}, all)
	want := []string{"example.org/b v0.9.9: GO-2 GO-3, fixed in v1.0.0", "stdlib v1.26: GO-4, fixed in v1.26.6"}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := weaknesses("example.org/a 1.2.0 GO-1\n"); err == nil {
		t.Error("a version without its v is read")
	}
}
