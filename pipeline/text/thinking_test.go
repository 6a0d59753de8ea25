package text

import (
	"testing"
	"unicode/utf8"
)

func TestStripInlineThinking(t *testing.T) {
	for in, want := range map[string]string{
		"<think>z</think> ans1":                               "ans1",
		"a <thinking>\nb\n</thinking>\n\n\u00a0\ufeff\u2028c": "a c",
		"<think>a</thinking>b<thinking>c</think>d":            "bd",
		"<think>a<think>b</think>c</think>d":                  "c</think>d",
		"<think>never closed":                                 "<think>never closed",
		"</think>a":                                           "</think>a",
		"<Think>a</Think>":                                    "<Think>a</Think>",
		"<thinker>a</thinker>":                                "<thinker>a</thinker>",
		"plain ":                                              "plain ",
		"<think></think>":                                     "",
	} {
		if got := StripInlineThinking(in); got != want {
			t.Errorf("StripInlineThinking(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzStripInlineThinking(f *testing.F) {
	f.Add("<think>\xff</thinking>\v\u2029x<think>")
	f.Fuzz(func(t *testing.T, in string) {
		got := StripInlineThinking(in)
		if len(got) > len(in) || utf8.ValidString(in) && !utf8.ValidString(got) {
			t.Fatalf("%q became %q", in, got)
		}
	})
}
