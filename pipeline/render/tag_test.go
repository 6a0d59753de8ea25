package render

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// Bug D2: the host removed text that only looked like a tag.
func TestOnlyGivenTagsComeOff(t *testing.T) {
	for in, answer := range map[string]string{
		// Tags 1 to 9 were given.
		"§1§ hi":       "hi",
		"§1§ §2§ hi":   "hi",
		"§9§ hi":       "hi", // the model guessed the unit's own tag
		"\n\t §1§ hi":  "\n\t hi",
		"§1§  two":     " two",
		"§1§ §10§ hi":  "§10§ hi",
		"§1§ mid §3§ ": "mid §3§ ",
		// Tag 10 was never given, so it stays.
		"§10§ hi":                   "§10§ hi",
		"§0§ hi":                    "§0§ hi",
		"§99999999999999999999§ hi": "§99999999999999999999§ hi",
		"§823 BGB":                  "§823 BGB",
		"§1 BGB":                    "§1 BGB",
		"§5.1 ref":                  "§5.1 ref",
		"§1§hi":                     "§1§hi",
		"§1§\nhi":                   "§1§\nhi",
		"§01§ hi":                   "§01§ hi",
		"§+1§ hi":                   "§+1§ hi",
		"§1$ hi":                    "§1$ hi",
		`§1">§ §1§ hi`:              `§1">§ §1§ hi`,
		"mid §3§ text":              "mid §3§ text",
		"§§ 1, 2 und 3":             "§§ 1, 2 und 3",
		"  hi ":                     "  hi ",
		"§1§ ":                      "§1§ ", // without its tag, the text would be blank
		"§1§ [dropped §2§]":         "[dropped §2§]",
		"\u00a7\xa7 not UTF-8 ":     "\u00a7\ufffd not UTF-8 ",
	} {
		if got := onWire(t, transcript.Assistant, in); got != Prefix(9)+answer {
			t.Errorf("answer %q goes out as %q, want the prefix and %q", in, got, answer)
		}
		want := Prefix(9) + strings.ToValidUTF8(in, "\ufffd")
		if got := onWire(t, transcript.User, in); got != want {
			t.Errorf("prompt %q goes out as %q", in, got)
		}
		if got := resultOnWire(t, in); got != want {
			t.Errorf("result %q goes out as %q", in, got)
		}
	}
}

// A model sometimes imitates tags at the start of its answer. If the session has a unit with such a tag, the host cuts
// the imitation off. In any other text, the host adds the text's own tag and sends the rest unchanged.
func TestContentIsNeverMistakenForATag(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			"§", "§", "1", "9", "10", "823", "0", " ", " ", "\n", ".", "$", `">`, "BGB", "wann", "[dropped ", "]", "§1§ ", "§9§ ", "§10§ ", "ä", "<!-- +5m -->\n",
		}), 1, 8).Draw(t, "pieces"), "")
	}).Filter(func(s string) bool { return strings.TrimSpace(s) != "" })
	rapid.Check(t, func(t *rapid.T) {
		in := text.Draw(t, "text")
		if got := onWire(t, transcript.User, in); got != Prefix(9)+in {
			t.Fatalf("prompt %q goes out as %q", in, got)
		}
		if got := resultOnWire(t, in); got != Prefix(9)+in {
			t.Fatalf("result %q goes out as %q", in, got)
		}
		got := onWire(t, transcript.Assistant, in)
		if startsWithGiven(in, 9) {
			if !strings.HasPrefix(got, Prefix(9)) || len(got) > len(Prefix(9)+in) {
				t.Fatalf("answer %q goes out as %q", in, got)
			}
		} else if got != Prefix(9)+in {
			t.Fatalf("answer %q goes out as %q", in, got)
		}
	})
}

// startsWithGiven does not call CutImitations. Otherwise, the test would not notice a mistake in that function.
func startsWithGiven(text string, highest int) bool {
	text = strings.TrimLeft(text, " \n")
	for tag := 1; tag <= highest; tag++ {
		if strings.HasPrefix(text, Prefix(tag)) {
			return true
		}
	}
	return false
}

func TestPrefixComesOffAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.StringMatching(`[a-zA-Z§][§0-9$.a-z ]{0,10}`).Draw(t, "content")
		if startsWithGiven(content, 8) {
			t.Skip("two tags")
		}
		tag := rapid.IntRange(1, 8).Draw(t, "tag")
		if got := onWire(t, transcript.Assistant, Prefix(tag)+content); got != Prefix(9)+content {
			t.Fatalf("%q goes out as %q", Prefix(tag)+content, got)
		}
	})
}

type fatalf interface{ Fatalf(string, ...any) }

func onWire(t fatalf, role transcript.Role, text string) string {
	return partOnWire(t, role, map[string]any{"id": "p1", "type": "text", "text": text})
}

func resultOnWire(t fatalf, output string) string {
	return partOnWire(t, transcript.Assistant, map[string]any{
		"id": "p1", "type": "tool", "callID": "c1", "tool": "read",
		"state": map[string]any{"status": "completed", "input": map[string]any{}, "output": output},
	})
}

func partOnWire(t fatalf, role transcript.Role, part map[string]any) string {
	raw, err := json.Marshal(map[string]any{"info": map[string]any{"id": "m1", "role": role}, "parts": []any{part}})
	if err != nil {
		t.Fatalf("%v", err)
	}
	codec := transcript.OpenCode{}
	m := codec.Decode(raw)
	u := frozen.Unit{Tag: 9}
	patch := Options{Codec: codec, Prefixes: true}.Patch(&m, func(*transcript.Part) *frozen.Unit { return &u }, Frame{})
	patched, err := Apply(raw, patch)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return codec.Decode(patched).Parts[0].Text
}
