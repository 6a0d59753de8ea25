package terms

import "bytes"

// Stem returns the stem of a lower-case word. It removes the endings of English plurals and verbs, a final e, and the
// endings that make a noun or an adjective from a verb. So "caches" and "caching" have the same stem as "cache", and
// "migration" has the same stem as "migrate". The stem need not be a word, because it is only compared with other
// stems. Stem may change the bytes of `word`.
func Stem(word []byte) []byte {
	if len(word) < 4 || !isPlainWord(word) {
		return word
	}
	word = withoutForm(word)
	if len(word) > 6 {
		word = withoutDerivation(word)
	}
	if n := len(word); n > 3 && word[n-1] == 'e' {
		word = word[:n-1]
	}
	if bytes.HasSuffix(word, []byte("ll")) && syllables(word) > 1 { // "cancelled" belongs to "cancel", and "instalment" to "install"
		word = word[:len(word)-1]
	}
	if n := len(word); n > 3 && word[n-1] == 'y' { // "retries" and "retried" belong to "retry"
		word[n-1] = 'i'
	}
	return word
}

func withoutForm(word []byte) []byte {
	switch {
	case bytes.HasSuffix(word, []byte("ies")) && len(word) > 4:
		word = word[:len(word)-2]
		word[len(word)-1] = 'y'
	case bytes.HasSuffix(word, []byte("sses")), bytes.HasSuffix(word, []byte("xes")), bytes.HasSuffix(word, []byte("shes")), bytes.HasSuffix(word, []byte("ches")):
		word = word[:len(word)-2]
	case bytes.HasSuffix(word, []byte("ss")), bytes.HasSuffix(word, []byte("us")), bytes.HasSuffix(word, []byte("is")):
	case word[len(word)-1] == 's':
		word = word[:len(word)-1]
	}
	if bytes.HasSuffix(word, []byte("eed")) { // "agreed" belongs to "agree", but "exceed" and "speed" end so themselves
		if bytes.HasSuffix(word, []byte("greed")) && len(word) > 5 || bytes.HasSuffix(word, []byte("freed")) || bytes.HasSuffix(word, []byte("teed")) {
			return word[:len(word)-1]
		}
		return word
	}
	for _, ending := range [...]string{"ing", "ed"} {
		if rest := len(word) - len(ending); rest >= 3 && bytes.HasSuffix(word, []byte(ending)) && hasVowel(word[:rest]) {
			return withoutDouble(word[:rest])
		}
	}
	return word
}

// If a word has lost its ending and ends with two equal consonants, withoutDouble removes the second: "planned"
// belongs to "plan", and "formatter" to "format".
func withoutDouble(word []byte) []byte {
	if n := len(word); n > 3 && word[n-1] == word[n-2] && !bytes.ContainsRune([]byte("lszeo"), rune(word[n-1])) {
		return word[:n-1]
	}
	return word
}

type derivation struct{ ending, long, short string }

// Each element replaces an ending. If at least two syllables are left before the ending, `long` replaces it, and
// otherwise `short`. If one ending is the end of another, the longer one comes first in the list. The endings come from
// Porter's stemmer.
var derivations = []derivation{
	{"ification", "ifi", "ifi"},
	{"ization", "", "iz"},
	{"isation", "", "is"},
	{"ation", "", "at"},
	{"ition", "it", "it"},
	{"tion", "t", "t"},
	{"sion", "s", "s"},
	{"ability", "", "abl"},
	{"ibility", "", "ibl"},
	{"ivity", "", "iv"},
	{"ity", "", "ity"},
	{"fulness", "", "ful"},
	{"iveness", "", "iv"},
	{"ness", "", "ness"},
	{"able", "", "able"},
	{"ible", "", "ible"},
	{"ance", "", "ance"},
	{"ence", "", "ence"},
	{"ancy", "", "ancy"},
	{"ency", "", "ency"},
	{"ally", "", "al"},
	{"ment", "", ""},
	{"ator", "", "at"},
	{"ate", "", "at"},
	{"at", "", "at"},
	{"ful", "", "ful"},
	{"ive", "", "iv"},
	{"ize", "", "iz"},
	{"iz", "", "iz"},
	{"ise", "", "is"},
	{"is", "", "is"},
	{"ous", "", "ous"},
	{"ant", "", "ant"},
	{"ent", "", "ent"},
	{"al", "", "al"},
	{"izer", "", "iz"},
	{"iser", "", "is"},
	{"er", "", "er"},
	{"or", "", "or"},
	{"ly", "", "ly"},
	{"ic", "", "ic"},
}

var byLast = func() (all [26][]derivation) {
	for _, d := range derivations {
		last := d.ending[len(d.ending)-1] - 'a'
		all[last] = append(all[last], d)
	}
	return all
}()

func withoutDerivation(word []byte) []byte {
	all := byLast[word[len(word)-1]-'a']
	for i := range all {
		d := &all[i]
		if rest := len(word) - len(d.ending); rest >= 3 && string(word[rest:]) == d.ending {
			instead := d.short
			if syllables(word[:rest]) >= 2 {
				instead = d.long
			}
			return withoutDouble(append(word[:rest], instead...))
		}
	}
	return word
}

// syllables counts the groups of vowels that a consonant follows.
func syllables(word []byte) (n int) {
	wasVowel := false
	for _, c := range word {
		isVowel := bytes.IndexByte([]byte("aeiouy"), c) >= 0
		if wasVowel && !isVowel {
			n++
		}
		wasVowel = isVowel
	}
	return n
}

func isPlainWord(word []byte) bool {
	for _, c := range word {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

func hasVowel(word []byte) bool { return bytes.ContainsAny(word, "aeiouy") }
