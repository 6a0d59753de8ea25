package terms

import "bytes"

// Stem returns the stem of a lower-case word: without the endings of English plurals and verbs, and without a final
// e. So "caches", "cached" and "caching" have the stem of "cache". It may write to the word's bytes, and is no
// dictionary: all that counts is that a text and a query get the same stem.
func Stem(word []byte) []byte {
	if len(word) < 4 || !isPlainWord(word) {
		return word
	}
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
	for _, ending := range [...]string{"ing", "ed"} {
		if rest := len(word) - len(ending); rest >= 3 && bytes.HasSuffix(word, []byte(ending)) && hasVowel(word[:rest]) {
			word = word[:rest]
			if n := len(word); n > 3 && word[n-1] == word[n-2] && !bytes.ContainsRune([]byte("lsz"), rune(word[n-1])) {
				word = word[:n-1]
			}
			break
		}
	}
	if n := len(word); n > 3 && word[n-1] == 'e' {
		word = word[:n-1]
	}
	if n := len(word); n > 3 && word[n-1] == 'y' { // "retries" and "retried" belong to "retry"
		word[n-1] = 'i'
	}
	return word
}

// isPlainWord reports whether a word has only the letters a to z.
func isPlainWord(word []byte) bool {
	for _, c := range word {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

func hasVowel(word []byte) bool { return bytes.ContainsAny(word, "aeiouy") }
