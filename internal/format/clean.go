package format

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// sequence matches the escape sequences of ECMA-48 and xterm: CSI ("\x1b[31m"), OSC, DCS and other strings with their
// terminator ("\x1b]0;title\a"), and short ones ("\x1bc"). If a string has no terminator in its line, sequence matches
// only its first characters, and the text after them stays visible. A string also ends where another sequence begins.
// Without this rule, a text with many unfinished strings would be slow, because each of them would be searched to the
// end of the text.
var sequence = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]" +
	"|(?:\x1b[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\x07\x1b\u0090\u0098\u009c-\u009f\n]*(?:\x07|\x1b\\\\|\u009c)" +
	"|\x1b[ -/]*[0-~]")

// Clean makes foreign text safe to print on one line of a terminal. For example, a project directory may have any
// name. Clean removes escape sequences, and characters that change the direction or the shape of the text around
// them. Line breaks and tabs become spaces, and any other character that a terminal cannot show becomes "?".
func Clean(text string) string { return clean(text, "") }

// Quote returns a foreign text as data for a model: in quotation marks, on one line, without control codes and
// markup.
func Quote(text string) string { return `"` + Plain(text) + `"` }

// Plain is Quote without the quotation marks.
func Plain(text string) string { return strings.Join(strings.Fields(markup.Replace(Clean(text))), " ") }

// WithoutMarkup is Plain for a text of several lines.
func WithoutMarkup(text string) string { return markup.Replace(CleanLines(text)) }

var markup = strings.NewReplacer("<", "‹", ">", "›", "§", "", `"`, "'", "“", "'", "”", "'")

// CleanLines is Clean for text of several lines: line feeds and tabs stay.
func CleanLines(text string) string { return clean(text, "\n\t") }

// CleanAll is like CleanLines, but removes nothing: every character that a terminal does not show becomes "?". It is
// used, for example, to show a file that the user has to agree to. Clean would remove an escape sequence, and the
// sequence could contain a part of the file.
func CleanAll(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' || r == '\t' {
			return r
		}
		return '?'
	}, text)
}

// CleanJSON returns the same JSON, but writes every character that a terminal does not show as \uXXXX. In valid JSON,
// such characters occur only in strings, so the meaning stays.
func CleanJSON(content []byte) []byte {
	var out bytes.Buffer
	for len(content) > 0 {
		r, size := utf8.DecodeRune(content)
		switch {
		case r == '\n' || r == '\t' || r == '\r' || unicode.IsPrint(r):
			out.Write(content[:size])
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		content = content[size:]
	}
	return out.Bytes()
}

// WithoutSequences removes the escape sequences of terminals, such as colours, and keeps all other characters.
func WithoutSequences(text string) string {
	if !strings.ContainsAny(text, "\x1b\u0090\u0098\u009b\u009d\u009e\u009f") { // most texts; the pattern takes much longer
		return text
	}
	return sequence.ReplaceAllString(text, "")
}

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
	}, WithoutSequences(text))
}
