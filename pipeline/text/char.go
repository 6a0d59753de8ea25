package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// jsSpace is the class of JavaScript's \s, of which RE2's \s is a part only.
const jsSpace = `[\s\x{0B}\x{FEFF}\p{Z}]`

// IsJSSpace reports whether r is of JavaScript's \s, which counts the byte order mark as a blank and
// Go's unicode.IsSpace does not; NEL is the other way round.
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

// isBlank reports white space that stays within its line.
func isBlank(r rune) bool { return IsJSSpace(r) && !isLineEnd(r) }

// isWordRune reports what a word consists of, in any script. JavaScript's \w is
// ASCII, and would see the English article in the Polish "miała".
func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || isAlnum(byte(r))
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// firstRune returns the first rune of s, or 0 of an empty s.
func firstRune(s string) rune {
	if s == "" {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// lastRune returns the last rune of b, or 0 of an empty b.
func lastRune[S string | []byte](b S) rune {
	if len(b) == 0 {
		return 0
	}
	r, _ := utf8.DecodeLastRuneInString(string(b[max(0, len(b)-utf8.UTFMax):]))
	return r
}

// hasFoldPrefix reports whether s starts with prefix, which is lower-case
// ASCII. Unicode's folding would take the Kelvin sign for a k.
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

// afterTags returns the length of the tag notation `§N§` that text starts with,
// repeated or not, with the blanks around it; 0 if there is none.
func afterTags(text string) int {
	end := 0
	for rest := trimLeftJS(text); ; {
		inner, ok := strings.CutPrefix(rest, "§")
		if !ok {
			return end
		}
		tail := strings.TrimLeft(inner, "0123456789")
		if len(tail) == len(inner) || !strings.HasPrefix(tail, "§") {
			return end
		}
		rest = trimLeftJS(tail[len("§"):])
		end = len(text) - len(rest)
	}
}
