package jsonc

import (
	"errors"
	"strings"
	"testing"
)

func TestParseNamesThePlaceOfAMistake(t *testing.T) {
	if _, err := Parse([]byte("{\n  // why\n  \"a\": 1,\n}")); err != nil {
		t.Error(err)
	}
	if _, err := Parse([]byte("{\n  \"a\" 1\n}")); err == nil || !strings.HasPrefix(err.Error(), "2:") {
		t.Errorf("error %v, want one at line 2", err)
	}
	deep := strings.Repeat("[", 80_000)
	for _, before := range []string{"", `"` + strings.Repeat("]", 80_000) + `", `, "// " + strings.Repeat("]", 80_000) + "\n", "/*" + strings.Repeat("}", 80_000) + "*/"} {
		if _, err := Parse([]byte("[" + before + deep)); !errors.Is(err, ErrTooDeep) {
			t.Errorf("after %.5q: error %.80v, want ErrTooDeep", before, err)
		}
	}
	if _, err := Parse([]byte(`["\"` + deep + `", /*` + deep + "*/ 1] // " + deep + "\n")); err != nil {
		t.Errorf("brackets in strings and comments: %.80v", err)
	}
}

// In a hostile file, elements can be nested thousands of levels deep, and their paths would take much memory. So Lines
// leaves out elements below the level `deepest`.
func TestLinesLooksNoDeeperThanAnyKey(t *testing.T) {
	text := []byte(strings.Repeat("[", 90) + "1" + strings.Repeat("]", 90))
	tree, err := Parse(text)
	if n := len(Lines(text, tree)); err != nil || n != deepest {
		t.Errorf("%d lines, %v", n, err)
	}
}
