package historian

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// sentences returns the sentences of a text. It leaves out very long ones, because these are pasted text.
func sentences(text string) []string {
	return slices.DeleteFunc(splitSentences(text), func(s string) bool { return len(s) > maxSentence })
}

// splitSentences splits a text at the ends of sentences and lines.
func splitSentences(text string) []string {
	var found []string
	for line := range strings.Lines(text) {
		for len(line) > 0 {
			end := sentenceEnd(line)
			if s := strings.TrimLeft(strings.TrimSpace(line[:end]), "-*> "); s != "" {
				found = append(found, s)
			}
			line = line[end:]
		}
	}
	return found
}

// sentenceEnd returns the length of the first sentence. A point ends a sentence only if a blank follows:
// "v1.2" and "main.go" do not end one.
func sentenceEnd(line string) int {
	for i := 0; i+1 < len(line); i++ {
		if strings.IndexByte(".!?;", line[i]) >= 0 && (line[i+1] == ' ' || line[i+1] == '\t') {
			return i + 1
		}
	}
	return len(line)
}

// isRule reports whether a sentence of the user says how things must be. It looks for words of obligation,
// wish and choice, in some languages that users write to their agents, and not only for "must" and "never". A
// question is never a rule. A sentence that is wrongly taken as a rule costs little: it is looked up like any
// other anchor.
func isRule(sentence string) bool {
	return !strings.HasSuffix(sentence, "?") && ruleWords().MatchString(sentence)
}

var ruleWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[^\pL])(?:` + strings.Join([]string{
		// English
		`must(?:n't)?`, `never`, `always`, `do not`, `don['’]?t`, `shall`, `should(?:n't)?`, `only`, `required?`, `mandatory`,
		`forbidden`, `not allowed`, `no longer`, `make sure`, `ensure`, `from now on`, `keep`, `prefer`, `instead of`, `rather than`,
		`remember`, `avoid`, `stick to`, `at most`, `at least`, `without exception`, `we (?:use|want|need|agreed|decided)`, `i (?:want|need|insist)`, `stop \pL+ing`,
		// German
		`muss`, `müssen`, `nie(?:mals)?`, `immer`, `darf`, `dürfen`, `soll(?:en|te|ten)?`, `nur`, `kein(?:e|en|er|em)?`, `ab jetzt`, `stattdessen`, `bitte nicht`,
		// French
		`jamais`, `toujours`, `doi(?:t|vent|s)`, `il faut`, `interdit`,
		// Spanish and Portuguese
		`nunca`, `jamás`, `siempre`, `sempre`, `debe(?:n|s)?`, `hay que`, `deve(?:m)?`,
	}, "|") + `)(?:[^\pL]|$)|必须|不要|总是|从不|絶対|必ず|しないで`)
})
