package format

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Columns returns how many terminal columns s occupies after Clean.
func Columns(s string) int {
	n := 0
	for _, r := range s {
		n += RuneColumns(r)
	}
	return n
}

// `wide` contains the characters that fill two columns of a terminal, and that may occur in the names of directories:
// CJK, Hangul, full width forms, emoji.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{{0x1100, 0x115f, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0xa4cf, 1}, {0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1}},
	R32: []unicode.Range32{{0x1f300, 0x1f64f, 1}, {0x1f680, 0x1f6ff, 1}, {0x1f900, 0x1f9ff, 1}, {0x20000, 0x3fffd, 1}},
}

func RuneColumns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// Left returns s with a width of exactly n columns. It cuts the end of a longer s, and adds spaces at the end of a
// shorter one.
func Left(s string, n int) string {
	s = Cut(s, n)
	return s + strings.Repeat(" ", max(0, n-Columns(s)))
}

// Right returns s with a width of exactly n columns. It cuts the end of a longer s, and adds spaces at the beginning of
// a shorter one.
func Right(s string, n int) string {
	s = Cut(s, n)
	return strings.Repeat(" ", max(0, n-Columns(s))) + s
}

// Cut shortens s to at most n columns, and marks the cut with an ellipsis.
func Cut(s string, n int) string {
	if Columns(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	used := 0
	for i, r := range s {
		if used += RuneColumns(r); used > n-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// CutStart is like Cut, but it removes the start of s. It is for paths, because the end of a path says more than its
// start.
func CutStart(s string, n int) string {
	if Columns(s) <= n {
		return s
	}
	used, from := 1, len(s) // the ellipsis takes one column
	for from > 0 {
		r, size := utf8.DecodeLastRuneInString(s[:from])
		if used += RuneColumns(r); used > n {
			break
		}
		from -= size
	}
	return Cut("…"+s[from:], n)
}

// Folded breaks s between words into lines of at most n columns. It cuts a word that is longer than a line.
func Folded(s string, n int) []string {
	n = max(n, 8)
	return FoldedWords(s, n, func(word string) string { return Cut(word, n) })
}

// FoldedWords changes each word, and then breaks s between words into lines of at most n columns. A changed word that
// is longer than a line gets its own line.
func FoldedWords(s string, n int, change func(word string) string) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		word = change(word)
		switch {
		case line == "":
			line = word
		case Columns(line)+1+Columns(word) <= n:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}
