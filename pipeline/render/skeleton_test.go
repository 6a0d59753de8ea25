package render

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/json"
)

func TestInputsAreClamped(t *testing.T) {
	long := strings.Repeat("x", 600)
	for _, c := range []struct{ in, want string }{
		{
			`{"filePath":"/a/b/c.txt","content":"` + long + `","opts":{"a":1},"list":[1,2,3],"n":5,"b":true,"s":"short","emoji":"abcd😀zz"}`,
			`{"filePath":"/a/b/...[truncated]","content":"xxxxx...[truncated]","opts":"[object]","list":"[3 items]","n":5,"b":true,"s":"short","emoji":"abcd...[truncated]"}`,
		},
		{
			`{"path":"/a/b/c.txt","body":"` + long + `","o":{"a":1},"l":[1,2],"n":5,"s":"short","e":"abcd😀z"}`,
			`{"path":"/a/b/...[truncated]","body":"xxxxx...[truncated]","o":"[object]","l":"[2 items]","n":5,"s":"short","e":"abcd...[truncated]"}`,
		},
		{
			`{"a":[],"b":{},"c":null,"d":12345678901234567890,"e":"` + long + `"}`,
			`{"a":"[0 items]","b":"[object]","c":null,"d":12345678901234567890,"e":"xxxxx...[truncated]"}`,
		},
		// An escape such as \n counts as one character.
		{`{"a":"\n\n\n\n\n","b":"` + long + `"}`, `{"a":"\n\n\n\n\n","b":"xxxxx...[truncated]"}`},
		// Arguments that are not an object have no members to shorten.
		{`["` + long + `"]`, ""},
		{`"` + long + `"`, ""},
	} {
		if got := string(clampInput(json.Value(c.in))); got != c.want {
			t.Errorf("clampInput(%s)\ngot  %s\nwant %s", c.in, got, c.want)
		}
	}
}

// The limit counts the whole JSON, with quotes and braces.
func TestShortInputsStay(t *testing.T) {
	const around = len(`{"a":""}`)
	for _, c := range []struct {
		fill  string
		units int
	}{{"x", 1}, {"é", 1}, {"日", 1}, {"😀", 2}} {
		at := strings.Repeat(c.fill, (500-around)/c.units)
		if got := clampInput(json.Value(`{"a":"` + at + `"}`)); got != nil {
			t.Errorf("%d of %s: clamped to %s", 500-around, c.fill, got)
		}
		if got := clampInput(json.Value(`{"a":"` + at + "xx" + `"}`)); got == nil {
			t.Errorf("%d of %s and two more: not clamped", 500-around, c.fill)
		}
	}
}

// Bug class B5: the result must not end with half a surrogate pair, which is invalid JSON.
func TestNoPairIsCut(t *testing.T) {
	for in, want := range map[string]string{
		"abcde": "abcde", "abcdef": "abcde", "abcd😀": "abcd", "abc😀z": "abc😀", "😀😀😀": "😀😀", "日本語テスト": "日本語テス", "": "",
	} {
		if got := cutUTF16(in, 5); got != want {
			t.Errorf("cutUTF16(%q, 5) = %q, want %q", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s, n := rapid.String().Draw(t, "s"), rapid.IntRange(0, 20).Draw(t, "n")
		got := cutUTF16(s, n)
		units := len(utf16.Encode([]rune(got)))
		if !strings.HasPrefix(s, got) || utf8.ValidString(s) && !utf8.ValidString(got) || units > n {
			t.Fatalf("cutUTF16(%q, %d) = %q", s, n, got)
		}
		if rest := s[len(got):]; rest != "" && units+len(utf16.Encode([]rune(rest)[:1])) <= n {
			t.Fatalf("cutUTF16(%q, %d) = %q leaves room for more", s, n, got)
		}
	})
}

// A lone surrogate counts as one unit.
func TestLoneSurrogatesAreClampedAsOneUnit(t *testing.T) {
	got := string(clampInput(json.Value(`{"a":"ab\ud800defg","b":"` + strings.Repeat("x", 600) + `"}`)))
	if want := `{"a":"ab` + "\uFFFD" + `de...[truncated]","b":"xxxxx...[truncated]"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// If a second clamp changed the arguments again, it would cause a second bust.
func TestClampIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var members []string
		for i := range rapid.IntRange(20, 40).Draw(t, "members") {
			var v any
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				v = rapid.String().Draw(t, "string") + strings.Repeat("y", 30)
			case 1:
				v = rapid.SliceOf(rapid.Int()).Draw(t, "array")
			case 2:
				v = map[string]int{"a": 1}
			case 3:
				v = rapid.Float64Range(-1e9, 1e9).Draw(t, "number")
			case 4:
				v = rapid.SampledFrom([]string{"[object]", "[3 items]", "abcd...[truncated]", "[object] and more"}).Draw(t, "taken for clamped")
			}
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			members = append(members, fmt.Sprintf(`"some quite long name %d":%s`, i, raw))
		}
		once := clampInput(json.Value("{" + strings.Join(members, ",") + "}"))
		if once == nil || lenUTF16(once) <= clampOver {
			return
		}
		if again := clampInput(once); string(again) != string(once) {
			t.Fatalf("once  %s\nagain %s", once, again)
		}
	})
}
