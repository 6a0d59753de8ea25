package indexing

import (
	"regexp"
	"strings"

	"github.com/magicctx/magicctx-host/internal/terms"
	"github.com/magicctx/magicctx-host/store/index"
)

// rule matches a sentence such as "Always run the tests".
var rule = regexp.MustCompile(`(?i)\b(?:always|never|from now on|at all times|as a rule|general rule|must(?: not| never)?|not allowed|forbidden|no longer|without asking)\b` +
	`|^(?:and |but |so |also,? |please,? |ok,? )*(?:do not|don't|only use|make sure|remember)\b|\bplease (?:do not|don't)\b|\bwe (?:do not|don't|only)\b`)

// decision matches a sentence such as "We keep SQLite".
var decision = regexp.MustCompile(`(?i)\b(?:decided?|decision|agreed|we (?:go|stay|keep|take|use|drop)|(?:let us|let's) (?:go|stay|keep|take|use|drop|run)|then we (?:go|use|take)` +
	`|(?:it is|then)[.!]?$|off the table|is fine[.;,]|instead of|rather than|i (?:would|suggest|chose|choose)|stays? (?:with|for|on))\b`)

// A text gets at most maxSentences statements. A sentence of more than maxSentence bytes is left out, because it is
// most likely pasted data.
const (
	maxSentences = 5
	maxSentence  = 400
)

func statements(text, context string) (all []index.Chunk) {
	for sentence := range terms.Sentences(text) {
		kind := index.Kind("")
		switch {
		case rule.MatchString(sentence):
			kind = index.Rule
		case decision.MatchString(sentence):
			kind = index.Decision
		}
		if kind == "" || len(sentence) > maxSentence || strings.HasSuffix(sentence, "?") {
			continue
		}
		all = append(all, index.Chunk{Kind: kind, Role: index.User, Text: sentence, Context: context})
		if len(all) == maxSentences {
			break
		}
	}
	return all
}
