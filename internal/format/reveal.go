package format

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Reveal makes foreign text of several lines safe to print, and leaves nothing
// of it out: every character that does not print becomes "?". It is for text
// that a person is about to agree to, for example the diff of a configuration,
// in which Clean would hide what stands between two escape characters.
func Reveal(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// CleanJSON returns the same JSON with every character that does not print
// written as \uXXXX. In valid JSON such characters occur in strings only, so
// the meaning stays.
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
