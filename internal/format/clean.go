package format

import (
	"regexp"
	"strings"
	"unicode"
)

// sequence matches the escape sequences of ECMA-48 and xterm: CSI ("\x1b[31m"),
// OSC, DCS and other strings with their terminator ("\x1b]0;title\a"), and short
// ones ("\x1bc"). A string without a terminator reaches to the end.
var sequence = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]" +
	"|(?:\x1b[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\x07\x1b\u009c]*(?:\x07|\x1b\\\\|\u009c|$)" +
	"|\x1b[ -/]*[0-~]")

// Clean makes foreign text safe to print on one line of a terminal. A project
// directory may have any name, and a model may write anything. Clean removes
// escape sequences, and characters that change the direction or the shape of
// the text around them. Line breaks and tabs become spaces, and any other
// character that a terminal cannot show becomes "?".
func Clean(text string) string { return clean(text, "") }

// CleanLines is Clean for text of several lines: line feeds and tabs stay.
func CleanLines(text string) string { return clean(text, "\n\t") }

func clean(text, kept string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r), strings.ContainsRune(kept, r):
			return r
		case unicode.Is(unicode.Cf, r): // bidirectional controls, joiners, marks without a shape
			return -1
		case unicode.IsSpace(r):
			return ' '
		}
		return '?'
	}, sequence.ReplaceAllString(text, ""))
}
