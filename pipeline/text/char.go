package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// jsSpace is the class of JavaScript's \s. RE2's \s contains only a part of it.
const jsSpace = `[\s\x{0B}\x{FEFF}\p{Z}]`

// IsJSSpace reports whether JavaScript's \s matches r. Unlike Go's
// unicode.IsSpace, \s matches the byte order mark and does not match NEL.
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

func isBlank(r rune) bool { return IsJSSpace(r) && !isLineEnd(r) }

// isWordRune knows all letters. JavaScript's \w knows only ASCII, and would find the English article "a" in the Polish
// word "miała".
func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || isAlnum(byte(r))
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

func firstRune(s string) rune {
	if s == "" {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func lastRune[S string | []byte](b S) rune {
	if len(b) == 0 {
		return 0
	}
	r, _ := utf8.DecodeLastRuneInString(string(b[max(0, len(b)-utf8.UTFMax):]))
	return r
}

// hasFoldPrefix ignores the case of ASCII letters only, because Unicode's case folding would take the Kelvin sign for a
// k. `prefix` must be in lower case.
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
