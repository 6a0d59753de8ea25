package terms

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A word of more than maxTerm bytes is not language but data, for example base64. It is not a term.
const maxTerm = 64

// Each calls `yield` for each term of a text, in order. `place` is the number of the word that contains the term. A
// name that consists of several words gives a term for each word and one for the whole: getUserName gives get, user,
// name and getusername. The next term overwrites the memory of the slice `term`, so `yield` must not keep it.
func Each(text string, yield func(term []byte, place int)) {
	var s splitter
	s.yield = yield
	s.split(text)
}

// Of returns the terms of a query, each once. Unlike Each, it does not return the whole name: for getUserName, it
// returns only get, user and name. So the query also finds texts in which these words stand apart.
func Of(query string) (all []string) {
	seen := map[string]bool{}
	s := splitter{isQuery: true, yield: func(term []byte, _ int) {
		if !seen[string(term)] {
			seen[string(term)] = true
			all = append(all, string(term))
		}
	}}
	s.split(query)
	return all
}

type splitter struct {
	yield   func([]byte, int)
	isQuery bool
	place   int
	word    []byte
	parts   []int
	stem    [maxTerm]byte
}

// split finds the words of a text. A word consists of letters, digits and underscores, and may have several parts. A
// new part begins in these places:
//   - after an underscore
//   - at a letter after digits
//   - at an upper-case letter after two lower-case letters
//   - at an upper-case letter that begins a lower-case word, such as the P in HTTPParser
//
// So 256MB has two parts, while sha256, iPad and URLs have only one.
func (s *splitter) split(text string) {
	var last kind
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			k := kinds[c]
			switch k {
			case none:
				s.end()
			case underscore:
				s.part()
			case upper:
				isNext := i+1 < len(text) && kinds[text[i+1]] == lower
				if last == lower && len(s.word) > s.begin()+1 || last == digit || last == upper && isNext && !s.isPlural(text[i+1:]) {
					s.part()
				}
				s.word = append(s.word, c|0x20)
			case lower:
				if last == digit {
					s.part()
				}
				s.word = append(s.word, c)
			default:
				s.word = append(s.word, c)
			}
			last = k
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case isAlone(r): // a script without blanks: each character is a term
			s.end()
			s.word = utf8.AppendRune(s.word, r)
			s.end()
			last = none
		case unicode.Is(unicode.Mn, r): // an accent after its letter
		case unicode.IsLetter(r), unicode.IsDigit(r):
			s.word = append(s.word, folded(unicode.ToLower(r))...)
			last = lower
		default:
			s.end()
			last = none
		}
	}
	s.end()
}

func (s *splitter) begin() int {
	if n := len(s.parts); n > 0 {
		return s.parts[n-1]
	}
	return 0
}

// isPlural reports whether the rest of a word is only a plural s, as in URLs.
func (s *splitter) isPlural(rest string) bool {
	return rest[0] == 's' && (len(rest) == 1 || kinds[rest[1]] == none)
}

func (s *splitter) part() {
	if len(s.word) > s.begin() {
		s.parts = append(s.parts, len(s.word))
	}
}

func (s *splitter) end() {
	if len(s.word) == 0 {
		return
	}
	s.part()
	if len(s.parts) == 1 || !s.isQuery && len(s.word) <= maxTerm {
		s.give(s.word)
	}
	if len(s.parts) > 1 {
		begin := 0
		for _, end := range s.parts {
			s.give(s.word[begin:end])
			begin = end
		}
	}
	s.place++
	s.word, s.parts = s.word[:0], s.parts[:0]
}

func (s *splitter) give(word []byte) {
	if len(word) <= maxTerm {
		s.yield(Stem(append(s.stem[:0], word...)), s.place) // a copy, because Stem may write to its word
	}
}

type kind uint8

const (
	none kind = iota
	lower
	upper
	digit
	underscore
)

// kinds maps each byte to its kind. Only ASCII bytes have a kind.
var kinds = func() (k [256]kind) {
	for c := range k {
		switch {
		case 'a' <= c && c <= 'z':
			k[c] = lower
		case 'A' <= c && c <= 'Z':
			k[c] = upper
		case '0' <= c && c <= '9':
			k[c] = digit
		case c == '_':
			k[c] = underscore
		}
	}
	return k
}()

// isAlone reports whether a character is a term of its own. This holds for scripts that put no spaces between words,
// for example Chinese.
func isAlone(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// Each group begins with a plain letter, followed by its accented forms. People often type the plain letter instead, so
// a search treats all of them as equal.
const accents = "aàáâãäåāăą cçćĉċč dďđð eèéêëēĕėęě gĝğġģ hĥħ iìíîïĩīĭįı jĵ kķ lĺļľŀł nñńņňŉ oòóôõöøōŏő rŕŗř sśŝşšș tţťŧț uùúûüũūŭůűų wŵ yýÿŷ zźżž"

var plain = func() map[rune]string {
	m := map[rune]string{'ß': "ss", 'æ': "ae", 'œ': "oe"}
	for _, group := range strings.Fields(accents) {
		for _, r := range group[1:] {
			m[r] = group[:1]
		}
	}
	return m
}()

func folded(r rune) string {
	if p, ok := plain[r]; ok {
		return p
	}
	return string(r)
}
