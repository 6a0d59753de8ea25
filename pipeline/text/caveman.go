package text

import (
	"strings"
	"unicode/utf8"
)

// A Level says how strongly Compress shortens a text.
type Level int

// Each level includes the changes of the lower levels.
const (
	Lite  Level = 1 // removes fillers, hedges and pleasantries, and shortens wordy phrases
	Full  Level = 2 // also removes auxiliaries before participles, and articles
	Ultra Level = 3 // also turns connectives into signs, and abbreviates frequent terms
)

// The words and phrases that Compress removes or replaces.
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

	// A modal verb stays, because "could be deleted" must not become "deleted".
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

// A term is abbreviated only from this number of occurrences on, so that a reader can guess the abbreviation.
const frequent = 3

// userLine is at the start of a line that quotes the user. Compress does not change these lines.
const userLine = "U: "

// Compress shortens old text of which a model needs only the facts: it removes words such as articles. Callers pass the
// original text, because a second compression might shorten the text again. Code, addresses, paths, ids, hashes and the
// lines of the user do not change.
//
// Compress must not change the meaning. It keeps lines and their indentation. It does not change modal verbs, compounds
// or words of other languages. It removes punctuation together with its word. A filler stays if the meaning depends on
// it ("not just", "Maybe.").
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

func lineLen(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i
	}
	return len(s)
}

func isUserLine(s string, at int) bool {
	return (at == 0 || s[at-1] == '\n') && strings.HasPrefix(s[at:], userLine)
}

func nextUserLine(s string, at int) int {
	if i := strings.Index(s[at:], "\n"+userLine); i >= 0 {
		return at + i + 1
	}
	return len(s)
}

// compressChunk compresses a chunk: the text between two user lines. At the level Ultra, it abbreviates the terms that
// occur often in this chunk.
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

// replaceConnective replaces a connective with a sign. At the end of a sentence, the word stays, because the sign would
// connect nothing: "Why? Because."
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

// removeBeforeParticiple removes an auxiliary if a participle follows. It keeps the participle, even if that is an
// auxiliary, too: "is being read" becomes "being read".
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

// removeBeforeWord removes an article. If the word is the last of its line, it is no article: "Plan A".
func removeBeforeWord(out []byte, f found) ([]byte, int) {
	next := afterBlanks(f.s, f.end)
	if next == f.end || isEndOfLine(f.s, next) {
		return out, 0
	}
	return out, next
}

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
