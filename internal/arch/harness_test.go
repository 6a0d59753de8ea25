package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// habit matches words that only OpenCode's codec may contain: OpenCode's name, the name of its todo tool, and its word
// for the end of a step with calls.
var habit = regexp.MustCompile(`(?i)opencode|"todowrite"|tool-calls`)

var knowsHarnesses = []string{"pipeline/transcript/", "pipeline/text/vocabulary.go"}

func TestOnlyCodecsKnowTheirHarness(t *testing.T) {
	root := rootOf(t)
	for _, dir := range append(strings.Fields(rooms), "pipeline", "internal/host", "internal/replay") {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() != "testdata" {
				return err
			}
			if d.IsDir() {
				return filepath.SkipDir
			}
			name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
			if strings.HasSuffix(name, "_test.go") || beginsWithAny(name, knowsHarnesses) {
				return nil
			}
			content, err := os.ReadFile(path)
			if hit := habit.Find(content); hit != nil {
				t.Errorf("%s says %q: state it in terms of all harnesses, or make it a value of transcript.Vocabulary", name, hit)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func beginsWithAny(name string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
