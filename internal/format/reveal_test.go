package format

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/json"
)

// hostile holds what a terminal would act on instead of showing it: escape sequences in both forms, line
// tricks, and characters that reverse or hide text.
const hostile = "a\x1b[2K\x1b]0;t\x07b\u009b1Ac\rd\be\x7ff\u202eg\u2066h\u200bi\ufeffj\u2028k\u061cl\U000e0041m"

func TestRevealLeavesNothingOut(t *testing.T) {
	if got, want := Reveal(hostile), "a?[2K?]0;t?b?1Ac?d?e?f?g?h?i?j?k?l?m"; got != want {
		t.Errorf("Reveal gives %q, want %q", got, want)
	}
	if got, want := Reveal("ä\n\t日本\x1b"), "ä\n\t日本?"; got != want {
		t.Errorf("Reveal gives %q, want %q", got, want)
	}
}

func TestJSONKeepsItsMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune(hostile)))).Draw(t, "text")
		encoded, err := json.Marshal(map[string]string{"text": strings.ToValidUTF8(text, "")})
		if err != nil {
			t.Fatal(err)
		}
		printed := CleanJSON(encoded)
		for _, r := range string(printed) {
			if !unicode.IsPrint(r) {
				t.Fatalf("%q is left in %q", r, printed)
			}
		}
		var got map[string]string
		if err := json.Unmarshal(printed, &got); err != nil || got["text"] != strings.ToValidUTF8(text, "") {
			t.Fatalf("%q became %q (%v)", text, got["text"], err)
		}
	})
}
