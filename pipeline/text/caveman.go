package text

import (
	"strings"
	"unicode/utf8"
)

// A Level says how much of its grammar a text loses.
type Level int

// The levels; what each one does contains what the lower ones do.
const (
	Lite  Level = 1 // fillers, hedges and pleasantries go, wordy phrases become short
	Full  Level = 2 // auxiliaries before participles and articles go
	Ultra Level = 3 // connectives become signs, frequent terms are abbreviated
)

// The word lists of spec transform §20.
var (
	fillers = newLexicon(phrases(filler, "",
		"just", "really", "basically", "actually", "essentially", "simply", "clearly", "obviously", "quite", "very",
		"somewhat", "rather", "fairly", "sort of", "kind of", "a bit"),
		phrases(kept, "", "rather than"))
	hedges = newLexicon(phrases(filler, "",
		"i think", "i believe", "i feel", "probably", "perhaps", "maybe", "it seems", "it appears", "arguably",
		"i suppose", "i guess"))
	pleasantries = newLexicon(phrases(pleasantry, "", "please", "thanks", "thank you", "kindly", "if possible"))

	wordy = newLexicon(
		phrases(plain, "to", "in order to"),
		phrases(plain, "because", "due to the fact that", "on the grounds that", "for the reason that"),
		phrases(plain, "now", "at this point in time", "at the moment"),
		phrases(plain, "if", "in the event that"),
		phrases(plain, "for", "for the purpose of"),
		phrases(plain, "about", "with regard to"),
		phrases(plain, "though", "in spite of the fact that"))

	// A modal verb carries meaning: what could be deleted has not been.
	auxiliaries = newLexicon(
		phrases(plain, "", "was", "were", "is", "are", "am", "be", "been", "being", "has been", "had been", "have been", "will be"),
		phrases(kept, "", "would be", "could be", "should be", "might be", "may be"))
	articles = newLexicon(phrases(plain, "", "the", "a", "an"))

	connectives = newLexicon(
		phrases(plain, "→", "and then", "then after", "afterwards", "therefore"),
		phrases(plain, "//", "because of", "because"),
		phrases(plain, "but", "however"),
		phrases(plain, "+", "furthermore", "additionally", "as well as"))

	terms = newLexicon(
		phrases(plain, "hist", "historian"), phrases(plain, "cmpt", "compartment"), phrases(plain, "cmpts", "compartments"),
		phrases(plain, "cmp", "compressor", "compression"), phrases(plain, "ctx", "context"),
		phrases(plain, "msg", "message"), phrases(plain, "msgs", "messages"), phrases(plain, "ses", "session"),
		phrases(plain, "cfg", "configuration", "config"), phrases(plain, "impl", "implementation"),
		phrases(plain, "impld", "implemented"), phrases(plain, "repo", "repository"), phrases(plain, "db", "database"),
		phrases(plain, "dir", "directory"))
)

// frequent is how often a term must occur before it is abbreviated: the reader
// needs the repetition to guess it.
const frequent = 3

// userLine opens a line that quotes the user, who is never paraphrased.
const userLine = "U: "

// Compress returns text with less grammar (spec transform §20), for old text
// that a model only needs the facts of. It is a function of the original text:
// compressing the result again may shorten it further. Code, addresses, paths,
// ids, hashes and the lines of the user stay byte for byte.
//
// It departs from the reference where that one lost meaning: lines are never
// joined and keep their indentation, modal verbs stay, no punctuation is left
// without its word, nothing is taken out of a compound or another language's
// word, and a filler stays where sense depends on it ("not just", "Maybe.").
func Compress(text string, level Level) string {
	if level < Lite || text == "" {
		return text
	}
	g := protect(strings.ToValidUTF8(text, string(utf8.RuneError)))
	var b strings.Builder
	for at := 0; at < len(g.text); {
		if end := at + lineLen(g.text[at:]); isUserLine(g.text, at) {
			b.WriteString(g.text[at:end])
			at = end
			continue
		}
		end := nextUserLine(g.text, at)
		chunk := tidy(compressChunk(g.text[at:end], level))
		if at == 0 {
			chunk = trimLeftJS(chunk)
		}
		if end == len(g.text) {
			chunk = strings.TrimRightFunc(chunk, IsJSSpace)
		}
		b.WriteString(chunk)
		at = end
	}
	g.text = b.String()
	return g.restored()
}

// lineLen returns the length of the first line of s, without its end.
func lineLen(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i
	}
	return len(s)
}

func isUserLine(s string, at int) bool {
	return (at == 0 || s[at-1] == '\n') && strings.HasPrefix(s[at:], userLine)
}

// nextUserLine returns where the first line of the user after s[at] starts.
func nextUserLine(s string, at int) int {
	if i := strings.Index(s[at:], "\n"+userLine); i >= 0 {
		return at + i + 1
	}
	return len(s)
}

// compressChunk compresses what stands between two lines of the user: a term is
// frequent, or not, within it.
func compressChunk(s string, level Level) string {
	for _, words := range []*lexicon{fillers, hedges, pleasantries} {
		s = words.rewrite(s, remove)
	}
	s = wordy.rewrite(s, replace)
	if level >= Full {
		s = auxiliaries.rewrite(s, removeBeforeParticiple)
		s = articles.rewrite(s, removeBeforeWord)
	}
	if level >= Ultra {
		s = connectives.rewrite(tidy(s), replaceConnective)
		s = strings.ReplaceAll(s, " and ", " + ")
		s = strings.ReplaceAll(s, " or ", " | ")
		s = abbreviate(s)
	}
	return s
}

func replace(out []byte, f found) ([]byte, int) { return append(out, f.becomes...), f.end }

// replaceConnective leaves a connective that ends its sentence, as in "Why?
// Because.", for its sign would connect nothing.
func replaceConnective(out []byte, f found) ([]byte, int) {
	if endsSentence(f.follows()) {
		return out, 0
	}
	end := f.end
	if strings.HasPrefix(f.s[end:], ",") {
		end++
	}
	return append(out, f.becomes...), end
}

// removeBeforeParticiple removes an auxiliary between blanks if a word follows
// that may be a participle. That word is not looked at again: of "is being
// read" the "being" stays.
func removeBeforeParticiple(out []byte, f found) ([]byte, int) {
	before := trimBlanks(out)
	next := afterBlanks(f.s, f.end)
	if len(before) == len(out) || startsLine(before) || next == f.end {
		return out, 0
	}
	end := wordEnd(f.s, next)
	word := f.s[next:end]
	for _, ending := range []string{"ed", "en", "ing"} {
		if len(word) > len(ending) && hasFoldSuffix(word, ending) {
			return append(append(before, ' '), word...), end
		}
	}
	return out, 0
}

// removeBeforeWord removes an article with the blanks after it. An article at
// the end of its line is none: "Plan A".
func removeBeforeWord(out []byte, f found) ([]byte, int) {
	next := afterBlanks(f.s, f.end)
	if next == f.end || isEndOfLine(f.s, next) {
		return out, 0
	}
	return out, next
}

// abbreviate shortens the terms that are frequent in s, and keeps a capital.
func abbreviate(s string) string {
	count := map[string]int{}
	terms.rewrite(s, func(out []byte, f found) ([]byte, int) {
		count[f.words]++
		return out, 0
	})
	return terms.rewrite(s, func(out []byte, f found) ([]byte, int) {
		if count[f.words] < frequent {
			return out, 0
		}
		short := f.becomes
		if c := f.s[f.start]; c >= 'A' && c <= 'Z' {
			short = strings.ToUpper(short[:1]) + short[1:]
		}
		return append(out, short...), f.end
	})
}

// tidy makes one blank of many within a line, takes trailing ones off and
// leaves at most one empty line.
func tidy(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	ends := 0
	for {
		n := lineLen(s)
		line := strings.TrimRight(s[:n], " \t")
		body := strings.TrimLeft(line, " \t")
		b.WriteString(line[:len(line)-len(body)])
		for i := range len(body) {
			if !isSpaceOrTab(body[i]) {
				b.WriteByte(body[i])
			} else if !isSpaceOrTab(body[i-1]) {
				b.WriteByte(' ')
			}
		}
		if n == len(s) {
			return b.String()
		}
		if body != "" {
			ends = 0
		}
		if ends++; ends <= 2 {
			b.WriteByte('\n')
		}
		s = s[n+1:]
	}
}

func isSpaceOrTab(c byte) bool { return c == ' ' || c == '\t' }
