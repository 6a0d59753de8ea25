package compare

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// compare once printed the bills of a session without a word about facts that its trace lacks.
func TestB9IncompleteTraceIsMentioned(t *testing.T) {
	recorded := func(name string) string { return filepath.Join("..", "..", "..", "testdata", "traces", name) }
	f, err := os.Open(recorded("short.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(t.TempDir(), "torn.jsonl")
	if err := os.WriteFile(torn, content[:len(content)-9], 0o600); err != nil { // as if the recorder was killed
		t.Fatal(err)
	}
	for _, test := range []struct {
		of     []string
		caveat string
		marks  int
	}{
		{[]string{recorded("short.jsonl.gz")}, "", 0},
		{[]string{torn}, "The trace (*) is incomplete, so the bills may be wrong: replay says why.", 1},
		{[]string{torn, recorded("pi-short.jsonl.gz")}, "Incomplete traces (*): 1 of 2 sessions. Bills may be wrong: replay says why.", 1},
	} {
		result, err := Run(t.Context(), Options{Of: test.of})
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := Print(&out, result, false); err != nil {
			t.Fatal(err)
		}
		page, err := pageOf(result)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(out.String()), " ")
		if test.caveat == "" && (strings.Contains(text, "incomplete") || strings.Contains(string(page), "incomplete")) ||
			!strings.Contains(text, test.caveat) || !strings.Contains(string(page), test.caveat) {
			t.Errorf("want the caveat %q:\n%s", test.caveat, out.String())
		}
		if printed, shown := strings.Count(out.String(), " *\n"), strings.Count(string(page), "</bdi> *</td>"); printed != test.marks || shown != test.marks {
			t.Errorf("%d marks printed, %d on the page, want %d:\n%s", printed, shown, test.marks, out.String())
		}
	}
}
