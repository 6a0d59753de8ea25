package render

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const sectionSign = "§"

// Prefix returns the notation that shows a unit's tag to the model.
func Prefix(tag int) string { return "§" + strconv.Itoa(tag) + "§ " }

// Placeholder returns what stands for a dropped unit. It is the only drop text
// there is, and a function of the tag alone: a text that depended on content
// would change when the content does.
func Placeholder(tag int) string { return "[dropped §" + strconv.Itoa(tag) + "§]" }

// StripTags removes the tag notation that stands at the start of text, also
// malformed imitations of it, because models copy what they read (spec
// transform §11.6). Blanks before a notation go with it.
func StripTags(text string) string {
	// Nested imitations need a few rounds; the bound is the spec's.
	for range 8 {
		rest := strings.TrimLeftFunc(text, isJSSpace)
		if !strings.HasPrefix(rest, sectionSign) {
			return text
		}
		// Hybrids first, dangling ones last: in another order a closing sign
		// would be left behind as content.
		stripped := stripDangling(stripPairs(stripHybrids(rest)))
		if stripped == rest {
			return text
		}
		text = stripped
	}
	return text
}

// StripTagsAnywhere removes every trace of tag notation from a text that the
// model wrote, before the harness stores it.
func StripTagsAnywhere(text string) string {
	if !strings.Contains(text, sectionSign) {
		return text
	}
	// Half a sign on each side of a removed one would make another.
	text = strings.ToValidUTF8(text, "\uFFFD")
	var b strings.Builder
	for text != "" {
		i := strings.Index(text, sectionSign)
		if i < 0 {
			b.WriteString(text)
			break
		}
		b.WriteString(text[:i])
		text = text[i:]
		if n := hybridLen(text); n > 0 {
			text = text[n:]
		} else if n := pairLen(text); n > 0 {
			text = text[n:]
		} else if n := danglingLen(text); n > 0 {
			text = text[n:]
		} else {
			text = text[len(sectionSign):]
		}
	}
	return strings.TrimFunc(b.String(), isJSSpace)
}

func stripHybrids(s string) string { return stripLeading(s, hybridLen) }
func stripPairs(s string) string   { return stripLeading(s, pairLen) }
func stripDangling(s string) string {
	return stripLeading(s, danglingLen)
}

// stripLeading removes repeated notations at the start, and the blanks after each.
func stripLeading(s string, length func(string) int) string {
	for {
		n := length(s)
		if n == 0 {
			return s
		}
		s = strings.TrimLeftFunc(s[n:], isJSSpace)
	}
}

// numberLen returns the length of `§digits` at the start of s, or 0.
func numberLen(s string) int {
	rest, ok := strings.CutPrefix(s, sectionSign)
	if !ok {
		return 0
	}
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	if digits == 0 {
		return 0
	}
	return len(sectionSign) + digits
}

// pairLen returns the length of `§N§` at the start of s, or 0.
func pairLen(s string) int {
	n := numberLen(s)
	if n == 0 || !strings.HasPrefix(s[n:], sectionSign) {
		return 0
	}
	return n + len(sectionSign)
}

// hybridLen returns the length of `§N">§` at the start of s, with an `N§` that
// may follow it, or 0.
func hybridLen(s string) int {
	n := numberLen(s)
	const middle = `">` + sectionSign
	if n == 0 || !strings.HasPrefix(s[n:], middle) {
		return 0
	}
	n += len(middle)
	tail := s[n:]
	digits := len(tail) - len(strings.TrimLeft(tail, "0123456789"))
	if digits > 0 && strings.HasPrefix(tail[digits:], sectionSign) {
		n += digits + len(sectionSign)
	}
	return n
}

// danglingLen returns the length of a `§N` without closing sign at the start of
// s, with one closer that replaced it, or 0. `§5.1` is a section reference and
// stays.
func danglingLen(s string) int {
	n := numberLen(s)
	if n == 0 {
		return 0
	}
	rest := s[n:]
	if len(rest) >= 2 && rest[0] == '.' && rest[1] >= '0' && rest[1] <= '9' {
		return 0
	}
	r, size := utf8.DecodeRuneInString(rest)
	if size > 0 && !isJSSpace(r) && r != '§' && r != '.' && !isWord(r) {
		n += size
	}
	return n
}

// isWord is JavaScript's \w, which is ASCII.
func isWord(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// HasTag reports whether a whole tag stands anywhere in text.
func HasTag(text string) bool {
	for {
		i := strings.Index(text, sectionSign)
		if i < 0 {
			return false
		}
		text = text[i:]
		if pairLen(text) > 0 || hybridLen(text) > 0 {
			return true
		}
		text = text[len(sectionSign):]
	}
}
