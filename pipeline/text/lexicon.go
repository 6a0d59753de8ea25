package text

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

type phrase struct {
	words, becomes string
	kind           phraseKind
}

type phraseKind uint8

const (
	plain phraseKind = iota
	// A phrase of the kind `kept` is not changed, and no shorter phrase is found inside it.
	kept
	filler
	pleasantry
)

// A lexicon finds phrases by their first letter. Longer phrases come first.
type lexicon [26][]phrase

func newLexicon(lists ...[]phrase) *lexicon {
	var l lexicon
	for _, p := range slices.Concat(lists...) {
		l[p.words[0]-'a'] = append(l[p.words[0]-'a'], p)
	}
	for _, entries := range l {
		slices.SortStableFunc(entries, func(a, b phrase) int { return cmp.Compare(len(b.words), len(a.words)) })
	}
	return &l
}

func phrases(kind phraseKind, becomes string, words ...string) []phrase {
	list := make([]phrase, len(words))
	for i, w := range words {
		list[i] = phrase{w, becomes, kind}
	}
	return list
}

// Only whole words match, in upper or lower case.
func (l *lexicon) at(s string, i int) (phrase, int) {
	c := lowerASCII(s[i])
	if c < 'a' || c > 'z' {
		return phrase{}, 0
	}
	for _, p := range l[c-'a'] {
		if end := i + len(p.words); hasFoldPrefix(s[i:], p.words) && !isWordRune(firstRune(s[end:])) {
			return p, end
		}
	}
	return phrase{}, 0
}

// A found is an occurrence of a phrase at s[start:end].
type found struct {
	phrase
	s          string
	start, end int
}

// An edit replaces a phrase: it appends the replacement to `out`, and may remove blanks and punctuation from the end of
// `out`. It returns the index in the source after the replaced part, or 0 if the phrase stays.
type edit func(out []byte, f found) ([]byte, int)

func (l *lexicon) rewrite(s string, edit edit) string {
	var out []byte
	copied := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !isWordRune(r) {
			i += size
			continue
		}
		if p, end := l.at(s, i); end > 0 {
			if p.kind != kept && !isPartOfToken(s, i, end) {
				out, copied = append(out, s[copied:i]...), i
				if changed, next := edit(out, found{p, s, i, end}); next > 0 {
					out, copied, i = changed, next, next
					continue
				}
			}
			i = end
			continue
		}
		i = wordEnd(s, i)
	}
	if copied == 0 {
		return s
	}
	return string(append(out, s[copied:]...))
}

func wordEnd(s string, i int) int {
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !isWordRune(r) {
			break
		}
		i += size
	}
	return i
}

// isPartOfToken reports whether s[start:end] is part of a longer token, for example of <a href>, just-in-time, very.js,
// -a or `x`.a. Without this part, the token would lose its meaning.
func isPartOfToken(s string, start, end int) bool {
	if start > 0 {
		if s[start-1] == hole || strings.ContainsRune("-'’/\\@#$%=&~^+.:<", lastRune(s[:start])) {
			return true
		}
	}
	if end == len(s) {
		return false
	}
	if s[end] == hole {
		return true
	}
	switch r := firstRune(s[end:]); r {
	case '.', ':':
		next := firstRune(s[end+1:])
		return isWordRune(next) || r == next && r == ':' || end+1 < len(s) && s[end+1] == hole
	default:
		return strings.ContainsRune("-'’/\\@=&~^(", r)
	}
}
