package tokens

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The split pattern distinguishes these classes of runes, for example letters.
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
	case unicode.IsSpace(r): // the Unicode property in the npm package's pattern, which includes U+0085 and excludes U+FEFF
		return space
	}
	return symbol
}

func classAt(s string, i int) (class, int) {
	if c := s[i]; c < utf8.RuneSelf {
		return asciiClass[c], 1
	}
	r, width := utf8.DecodeRuneInString(s[i:])
	return classOf(r), width
}

// pieceEnd returns the end of the first piece of s, which must not be empty. Tokens never cross the border of a
// piece. Go's regexp has no look-ahead, so the code implements this pattern by hand:
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

// spaceEnd returns the end of the blanks at the start of s. If a word follows, spaceEnd leaves out the last blank,
// because in the pattern, a word may include the blank before it.
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

// runEnd returns the end of the run of runes of class c that starts at i. If the rune at i is of another class,
// the result is i.
func runEnd(s string, i int, c class) int {
	for i < len(s) {
		if b := s[i]; b < utf8.RuneSelf { // this repeats classAt, because most bytes take this path
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
