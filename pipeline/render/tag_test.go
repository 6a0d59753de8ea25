package render

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The table of spec transform §11.6 with vector V02; the last two rows are our
// rule for defect C15 (leading blanks used to defeat the stripping).
func TestTagNotationIsStripped(t *testing.T) {
	for _, c := range []struct{ in, strip, persisted string }{
		{"§1§ §2§ hi", "hi", "hi"},
		{`§15298">§ §15298§ hello`, "hello", "hello"},
		{"§42$ hi", "hi", "hi"},
		{"§42important", "important", "important"},
		{"§5.1 ref", "§5.1 ref", "5.1 ref"},
		{"99 files", "99 files", "99 files"},
		{"§42. Next", ". Next", ". Next"},
		{"mid §3§ text", "mid §3§ text", "mid  text"},
		{"  §1§ hi", "hi", "hi"},
		{"  hi", "  hi", "  hi"},
	} {
		if got := StripTags(c.in); got != c.strip {
			t.Errorf("StripTags(%q) = %q, want %q", c.in, got, c.strip)
		}
		if got := StripTagsAnywhere(c.in); got != c.persisted {
			t.Errorf("StripTagsAnywhere(%q) = %q, want %q", c.in, got, c.persisted)
		}
	}
}

// What we write ourselves must come off again whole, whatever the content.
func TestPrefixComesOffAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.StringMatching(`[a-zA-Z ]{1,20}[§0-9$.a-z ]{0,10}`).Draw(t, "content")
		clean := StripTags(content)
		tag := rapid.IntRange(1, 99999).Draw(t, "tag")
		if got := StripTags(Prefix(tag) + clean); got != strings.TrimLeftFunc(clean, isJSSpace) {
			t.Fatalf("StripTags(%q) = %q, want %q", Prefix(tag)+clean, got, clean)
		}
	})
}

func FuzzStripTags(f *testing.F) {
	for _, s := range []string{"§1§ a", `§1">§1§ a`, "§", "§§§1§", "\xc2", "§1\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := StripTags(s)
		if len(once) > len(s) || !strings.HasSuffix(s, once) {
			t.Fatalf("StripTags(%q) = %q is not a suffix", s, once)
		}
		if strings.Contains(StripTagsAnywhere(s), sectionSign) {
			t.Fatalf("a sign is left in %q", StripTagsAnywhere(s))
		}
	})
}
