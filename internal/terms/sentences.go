package terms

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentences yields the sentences of a text, each with the number of its line. A line break ends a sentence, so each
// item of a list is a sentence of its own. Sentences skips blocks of code, and lines of only one word.
func Sentences(text string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		isCode, number := false, 0
		for line := range strings.Lines(text) {
			number++
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "```") {
				isCode = !isCode
				continue
			}
			line = strings.TrimLeft(line, "#>*+•- \t")
			if isCode || !strings.Contains(line, " ") {
				continue
			}
			from := 0
			for i := 0; i+2 < len(line); i++ {
				if !strings.ContainsRune(".!?", rune(line[i])) || line[i+1] != ' ' || isShort(line[from:i]) {
					continue
				}
				if next, _ := utf8.DecodeRuneInString(line[i+2:]); !unicode.IsLower(next) {
					if !yield(line[from:i+1], number) {
						return
					}
					from = i + 2
				}
			}
			if from < len(line) && !yield(line[from:], number) {
				return
			}
		}
	}
}

func isShort(text string) bool {
	for _, end := range [...]string{"e.g", "i.e", "etc", "vs", "cf", "approx"} {
		if strings.HasSuffix(text, end) {
			return true
		}
	}
	return false
}
