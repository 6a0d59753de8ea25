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
	if _, err := Parse([]byte(strings.Repeat("[", 1_000_000))); !errors.Is(err, ErrTooDeep) {
		t.Errorf("error %v, want ErrTooDeep", err)
	}
}
