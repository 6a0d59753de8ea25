package tokens

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A class is what the split pattern knows about a rune.
type class uint8

const (
	symbol class = iota
	letter
	number
	space
)

var asciiClass = func() (table [utf8.RuneSelf]class) {
	for r := range rune(utf8.RuneSelf) {
		table[r] = classOf(r)
	}
	return table
}()

func classOf(r rune) class {
	switch {
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return number
	case unicode.IsSpace(r): // the Unicode property, as in the package's pattern: with U+0085, without U+FEFF
		return space
	}
	return symbol
}

// classAt returns the class and the width in bytes of the rune at i.
func classAt(s string, i int) (class, int) {
	if c := s[i]; c < utf8.RuneSelf {
		return asciiClass[c], 1
	}
	r, width := utf8.DecodeRuneInString(s[i:])
	return classOf(r), width
}

// pieceEnd returns the end of the first piece of s, which is not empty. Tokens
// never cross the border of a piece. It is this pattern by hand, because Go's
// regexp has no look-ahead:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func pieceEnd(s string) int {
	if s[0] == '\'' {
		for _, suffix := range [...]string{"s", "t", "re", "ve", "m", "ll", "d"} {
			if strings.HasPrefix(s[1:], suffix) {
				return 1 + len(suffix)
			}
		}
	}
	start := 0
	if s[0] == ' ' && len(s) > 1 {
		start = 1
	}
	c, width := classAt(s, start)
	if c != space {
		return runEnd(s, start+width, c)
	}
	return spaceEnd(s)
}

// spaceEnd ends a run of blanks one rune early if a word follows, since that
// rune may belong to the word.
func spaceEnd(s string) int {
	end := runEnd(s, 0, space)
	if end == len(s) {
		return end
	}
	_, width := utf8.DecodeLastRuneInString(s[:end])
	if width < end {
		return end - width
	}
	return end
}

// runEnd returns where the run of class c that reaches i ends.
func runEnd(s string, i int, c class) int {
	for i < len(s) {
		if b := s[i]; b < utf8.RuneSelf { // as classAt, inlined: most bytes come this way
			if asciiClass[b] != c {
				break
			}
			i++
			continue
		}
		at, width := classAt(s, i)
		if at != c {
			break
		}
		i += width
	}
	return i
}
