// Package printable makes foreign text safe to print on a terminal. A project, a trace and a model choose
// the names, paths and texts that this program prints. An escape sequence in them could hide or replace
// lines that the user is about to agree to, and a bidirectional control character could reverse them.
//
// It may import nothing of this module.
package printable

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Replacement stands for a character that must not be printed.
const Replacement = '?'

// Line returns text as one line: every character that does not print becomes a question mark. For
// example "a\x1b[2Kb" becomes "a?[2Kb".
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return Replacement
		}
		return r
	}, text)
}

// Text is like Line, but keeps line breaks and tabs.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return Replacement
		}
		return r
	}, text)
}

// JSON returns the same JSON with every character that does not print written as \uXXXX. In valid JSON
// such characters occur in strings only, so the meaning stays.
func JSON(content []byte) []byte {
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
