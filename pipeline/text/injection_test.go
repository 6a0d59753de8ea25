package text

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestStripInjections(t *testing.T) {
	for _, c := range []struct {
		in, want string
		injected bool
	}{
		{"hi <system-reminder>x</system-reminder> there", "hi  there", true},
		{"plain", "plain", false},
		{"<!-- OMO_INTERNAL_INITIATOR -->", "", true},
		{"[SYSTEM DIRECTIVE: OH-MY-OPENCODE - TODO] do\n- a\n\nuser text", "user text", true},
		{"a\n\n[EMERGENCY CONTEXT WINDOW WARNING] b\nc\n\nd", "a\n\n\n\nd", true},
		{"before\n\n[EMERGENCY CONTEXT WINDOW WARNING] stop now\nline2\n\nafter", "before\n\n\n\nafter", true},
		{"[SYSTEM DIRECTIVE: MAGIC-CONTEXT] x", "[SYSTEM DIRECTIVE: MAGIC-CONTEXT] x", true},

		{"q <system-reminder>d</system-reminder> t", "q  t", true}, // blanks inside a text stay
		{" plain\n", " plain\n", false},
		{"<System-Reminder>\na\n</SYSTEM-REMINDER>b<system-reminder>c</system-reminder>", "b", true},
		{"<system-reminder> open", "<system-reminder> open", false},
		{"<!-- OMO_INTERNAL_INITIATOR -->a<!-- OMO_INTERNAL_INITIATOR -->", "a", true},
		{"x [SYSTEM DIRECTIVE: OH-MY-OPENCODE - A] b\n\n1. c\n \n* d\n\ne\n\n[SYSTEM DIRECTIVE: OH-MY-CLAUDE] f", "x \n\ne", true},
		{"[SYSTEM DIRECTIVE: OH-MY-OPENCODE never closed\n\nmine [1]", "mine [1]", true},
		{"[EDIT ERROR - IMMEDIATE ACTION REQUIRED] a\r\n\r\nb", "b", true},
		{"a [Category+Skill Reminder] b\n\nc [Category+Skill Reminder] d", "a \n\nc [Category+Skill Reminder] d", true},
		{"a\n**THE SUBAGENT JUST CLAIMED THIS TASK IS DONE. b\nc", "a", true},
		{"[task CALL FAILED - IMMEDIATE RETRY REQUIRED]\nUnstable background agent appears idle", "", true},
		{"[task CALL FAILED] is quoted", "[task CALL FAILED] is quoted", false},
	} {
		if got := StripInjections(c.in); got != c.want {
			t.Errorf("StripInjections(%q) = %q, want %q", c.in, got, c.want)
		}
		if got := HasInjection(c.in); got != c.injected {
			t.Errorf("HasInjection(%q) = %v", c.in, got)
		}
	}
}

func TestIsInjectedOnly(t *testing.T) {
	for in, want := range map[string]bool{
		"<!-- OMO_INTERNAL_INITIATOR -->":                                             true,
		" \n<!-- OMO_INTERNAL_INITIATOR -->\n":                                        true,
		"§3§ \n<!-- OMO_INTERNAL_INITIATOR -->\n":                                     false,
		"<!-- OMO_INTERNAL_INITIATOR --> hi":                                          false,
		"<system-reminder>only</system-reminder>":                                     true,
		"<SYSTEM-REMINDER>\na\n</system-reminder> ":                                   true,
		"§1§ §2§ <SYSTEM-REMINDER>\na\n</system-reminder> ":                           false,
		"<system-reminder>a</system-reminder> b <system-reminder>c</system-reminder>": false,
		"b <system-reminder>a</system-reminder>":                                      false,
		"[SYSTEM DIRECTIVE: X] y":                                                     true,
		"[Category+Skill Reminder] y":                                                 true,
		"[EDIT ERROR - IMMEDIATE ACTION REQUIRED]":                                    true,
		"[task CALL FAILED] and more":                                                 true,
		"[EMERGENCY CONTEXT WINDOW WARNING] y":                                        true,
		"see [EMERGENCY CONTEXT WINDOW WARNING]":                                      false,
		"Unstable background agent appears idle":                                      false,
		"":                                                                            false,
		"§1§ ":                                                                        false,
		"§1 [SYSTEM DIRECTIVE: X]":                                                    false,
	} {
		if got := IsInjectedOnly(in); got != want {
			t.Errorf("IsInjectedOnly(%q) = %v", in, got)
		}
	}
}

// The time must grow only in proportion to the length of the text. The bug: for each empty line after a directive, the
// code read all empty lines again, which took minutes for this text.
func TestHostileEmptyLinesAreReadOnce(t *testing.T) {
	const n = 500_000
	if got := StripInjections("[SYSTEM DIRECTIVE: OH-MY-OPENCODE]" + strings.Repeat("\n", n) + "- a\n\nmine"); got != "mine" {
		t.Errorf("%.40q is left", got)
	}
}

func TestPieces(t *testing.T) {
	type pieces = []Piece
	for in, want := range map[string]pieces{
		"plain": {{"plain", false}},
		"":      {{"", false}},
		"Explain <system-reminder> tags. </system-reminder> ok.": {{"Explain ", false}, {"<system-reminder> tags. </system-reminder>", true}, {" ok.", false}},
		"a\n\n[EDIT ERROR - IMMEDIATE ACTION REQUIRED] b\n\nc":   {{"a\n\n", false}, {"[EDIT ERROR - IMMEDIATE ACTION REQUIRED] b", true}, {"\n\nc", false}},
		"a [SYSTEM DIRECTIVE: OH-MY-OPENCODE] b\n- c":            {{"a ", false}, {"[SYSTEM DIRECTIVE: OH-MY-OPENCODE] b\n- c", true}},
		"[SYSTEM DIRECTIVE: X] y\n\nz":                           {{"[SYSTEM DIRECTIVE: X] y\n\nz", true}},
		"<!-- OMO_INTERNAL_INITIATOR -->[task CALL FAILED] x":    {{"<!-- OMO_INTERNAL_INITIATOR -->[task CALL FAILED] x", true}},
	} {
		if got := Pieces(in); !slices.Equal(got, want) {
			t.Errorf("Pieces(%q) = %+v, want %+v", in, got, want)
		}
	}
}

func FuzzStripInjections(f *testing.F) {
	f.Add("a [SYSTEM DIRECTIVE: OH-MY-OPENCODE] b\n\n- c\n\n<system-reminder>\xff</system-reminder>")
	f.Add("[EDIT ERROR - IMMEDIATE ACTION REQUIRED]\n \n\n§1§")
	f.Fuzz(func(t *testing.T, in string) {
		got := StripInjections(in)
		switch {
		case !HasInjection(in) && got != in:
			t.Fatalf("%q became %q without injection", in, got)
		case len(got) > len(in), utf8.ValidString(in) && !utf8.ValidString(got):
			t.Fatalf("%q became %q", in, got)
		case HasInjection(in) && got != strings.TrimFunc(got, IsJSSpace):
			t.Fatalf("%q is not trimmed", got)
		}
		whole, words := "", ""
		for _, p := range Pieces(in) {
			if whole += p.Text; !p.Injected {
				words += p.Text
			}
		}
		switch {
		case whole != in:
			t.Fatalf("the pieces of %q are %q", in, whole)
		case IsInjectedOnly(got) && words != "", !IsInjectedOnly(got) && HasInjection(in) && trimJS(words) != got:
			t.Fatalf("%q has the words %q, and without injections it is %q", in, words, got)
		}
	})
}
