package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// jsSpace is the class of JavaScript's \s. RE2's \s contains only a part of it.
const jsSpace = `[\s\x{0B}\x{FEFF}\p{Z}]`

// IsJSSpace reports whether JavaScript's \s matches r. It differs from Go's
// unicode.IsSpace in two characters: \s matches the byte order mark and does
// not match NEL.
func IsJSSpace(r rune) bool {
	switch r {
	case '\uFEFF':
		return true
	case '\u0085':
		return false
	}
	return unicode.IsSpace(r)
}

func trimJS(s string) string     { return strings.TrimFunc(s, IsJSSpace) }
func trimLeftJS(s string) string { return strings.TrimLeftFunc(s, IsJSSpace) }

func isLineEnd(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' }

// isBlank reports whether r is white space within a line.
func isBlank(r rune) bool { return IsJSSpace(r) && !isLineEnd(r) }

// isWordRune reports whether r can be part of a word, in any script.
// JavaScript's \w knows ASCII only, and would find the English article "a" in
// the Polish word "miała".
func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || isAlnum(byte(r))
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// firstRune returns the first rune of s, or 0 if s is empty.
func firstRune(s string) rune {
	if s == "" {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// lastRune returns the last rune of b, or 0 if b is empty.
func lastRune[S string | []byte](b S) rune {
	if len(b) == 0 {
		return 0
	}
	r, _ := utf8.DecodeLastRuneInString(string(b[max(0, len(b)-utf8.UTFMax):]))
	return r
}

// hasFoldPrefix reports whether s starts with prefix, in upper or lower case. prefix
// is lower-case ASCII. hasFoldPrefix does not use Unicode's case folding, which would
// treat the Kelvin sign as a k.
func hasFoldPrefix(s, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if lowerASCII(s[i]) != prefix[i] {
			return false
		}
	}
	return true
}

func hasFoldSuffix[S string | []byte](s S, suffix string) bool {
	return len(s) >= len(suffix) && hasFoldPrefix(string(s[len(s)-len(suffix):]), suffix)
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || lowerASCII(c) >= 'a' && lowerASCII(c) <= 'z'
}

func lowerASCII(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
