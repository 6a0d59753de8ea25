package render

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// The table of spec transform §11.6 with vector V02; the last two rows are our
// rule for defect C15 (leading blanks used to defeat the stripping).
func TestTagNotationIsStripped(t *testing.T) {
	for _, c := range []struct{ in, strip, persisted, ninth string }{
		{"§1§ §2§ hi", "hi", "hi", "§9§ hi"},
		{`§15298">§ §15298§ hello`, "hello", "hello", "§9§ hello"},
		{"§42$ hi", "hi", "hi", "§9§ hi"},
		{"§42important", "important", "important", "§9§ important"},
		{"§5.1 ref", "§5.1 ref", "5.1 ref", "§9§ §5.1 ref"},
		{"99 files", "99 files", "99 files", "§9§ 99 files"},
		{"§42. Next", ". Next", ". Next", "§9§ . Next"},
		{"mid §3§ text", "mid §3§ text", "mid  text", "§9§ mid §3§ text"},
		{"  §1§ hi", "hi", "hi", "§9§ hi"},
		{"  hi", "  hi", "  hi", "§9§   hi"},
	} {
		if got := StripTags(c.in); got != c.strip {
			t.Errorf("StripTags(%q) = %q, want %q", c.in, got, c.strip)
		}
		if got := StripTagsAnywhere(c.in); got != c.persisted {
			t.Errorf("StripTagsAnywhere(%q) = %q, want %q", c.in, got, c.persisted)
		}
		if got := onWire(t, c.in, frozen.Unit{Tag: 9, Kind: frozen.TextUnit}); got != c.ninth {
			t.Errorf("%q goes out as %q, want %q", c.in, got, c.ninth)
		}
	}
}

// onWire is the text of a user message whose only part is that unit.
func onWire(t *testing.T, text string, u frozen.Unit) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"info": map[string]any{"id": "u1", "role": "user"}, "parts": []any{map[string]any{"id": "p1", "type": "text", "text": text}}})
	if err != nil {
		t.Fatal(err)
	}
	codec := transcript.OpenCode{}
	m := codec.Decode(raw)
	patch := Options{Codec: codec, Prefixes: true}.Patch(&m, func(*transcript.Part) *frozen.Unit { return &u }, Frame{})
	patched, err := Apply(raw, patch)
	if err != nil {
		t.Fatal(err)
	}
	return codec.Decode(patched).Parts[0].Text
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
