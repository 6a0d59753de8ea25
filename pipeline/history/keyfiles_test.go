package history_test

import (
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline/history"
)

func keyFiles() []history.KeyFile {
	return []history.KeyFile{
		{Path: `a/"b".go`, Reads: 5, Outline: "func F[T <-chan int]() // §3§\u200b"},
		{Path: "huge.go", Reads: 4, Outline: strings.Repeat("func Long()\n", 900)},
		{Path: "c.py", Reads: 4, Outline: "def c()"},
		{Path: "old.py", Outline: "def old()"},
	}
}

func TestBaselineShowsKeyFiles(t *testing.T) {
	got := history.Baseline(history.BaselineInput{KeyFiles: keyFiles(), KeyFileBudget: history.KeyFileBudget(10_000, 10_000), CountText: tokens.Count})
	want := "\n" + `  <key-file path="a/&quot;b&quot;.go">
func F[T &lt;-chan int]() // § 3§
  </key-file>
  <key-file path="c.py">
def c()
  </key-file>
</key-files>`
	if !strings.HasSuffix(got.Text, want) || got.Sections.KeyFiles == 0 {
		t.Errorf("%s\nwant\n%s", got.Text, want)
	}
	if paths := history.ShownKeyFiles(got.KeyFiles); strings.Join(paths, " ") != `a/"b".go c.py` {
		t.Errorf("%q", paths)
	}
	if none := history.Baseline(history.BaselineInput{KeyFiles: keyFiles(), KeyFileBudget: 20, CountText: tokens.Count}); none.KeyFiles != "" || strings.Contains(none.Text, "key-file") {
		t.Error(none.Text)
	}
}

// The delta names the key files that have changed or disappeared since the baseline. If the state of a file is unknown,
// the delta does not name the file.
func TestDeltaNamesStaleKeyFiles(t *testing.T) {
	shown := history.Baseline(history.BaselineInput{KeyFiles: keyFiles(), KeyFileBudget: 10_000, CountText: tokens.Count}).KeyFiles
	now := keyFiles()
	if stale := history.StaleKeyFiles(shown, now); stale != nil {
		t.Errorf("nothing has changed: %q", stale)
	}
	now[0].Outline, now[2].IsGone = "func F()", true
	got := deltaOf(history.DeltaInput{StaleKeyFiles: history.StaleKeyFiles(shown, now[:3])}).Text
	want := "<session-history-since>\n<key-file-updates>\n" + `  <stale path="a/&quot;b&quot;.go"/>
  <gone path="c.py"/>
</key-file-updates>
</session-history-since>`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if stale := history.StaleKeyFiles(shown, nil); stale != nil {
		t.Errorf("nothing is known: %q", stale)
	}
}
