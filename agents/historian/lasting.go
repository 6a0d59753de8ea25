package historian

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// maxLasting limits the lasting rules of one compartment. If a range has more, the newest are kept.
const maxLasting = 40

// lastingRules returns the sentences with which the user has set a rule for more than the current task, or has ended
// such a rule. An example is "Always answer in French." If the next sentence is an exception, it belongs to the rule.
// These rules do not share the limit of RuleAnchor, because almost every prompt has sentences such as "You should look at
// this file."
func lastingRules(messages []Message) []chronicle.Rule {
	var rules []chronicle.Rule
	seen := map[string]bool{}
	left := scannedTexts
	for _, m := range slices.Backward(messages) {
		if m.Role != User {
			continue
		}
		for _, text := range slices.Backward(m.Texts) {
			said := sentences(scanLines(notPasted(text), &left))
			for i, s := range slices.Backward(said) {
				if s = oneLine(s); seen[s] || !isLasting(s) {
					continue
				}
				seen[s] = true // of several repetitions, the newest counts
				if i+1 < len(said) && exception().MatchString(said[i+1]) && !isQuestion(said[i+1]) {
					s += " " + oneLine(said[i+1])
				}
				if rules = append(rules, chronicle.Rule{Words: s, Message: m.Ordinal}); len(rules) == maxLasting {
					slices.Reverse(rules)
					return rules
				}
			}
		}
	}
	slices.Reverse(rules)
	return rules
}

// notPasted removes the lines of a prompt that are usually pasted: quotes, code, diffs and the comments of a program.
func notPasted(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(unquoted(text)) {
		if !pastedLine().MatchString(line) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// scanLines is like scan, but leaves out the two lines at the cut, because half of a sentence may say something else.
func scanLines(text string, left *int) string {
	if most := min(scannedText, *left); len(text) > most {
		first, last := text[:most/2], text[len(text)-most/2:]
		_, last, _ = strings.Cut(last, "\n")
		text = first[:strings.LastIndexByte(first, '\n')+1] + last
	}
	*left -= len(text)
	return clean(text)
}

// These words mark a rule that holds for more than the current task, or a sentence that ends such a rule.
const (
	lastingWords = `never|always|from now on|without exception|under no circumstances|at all times|for the rest of|no longer|not any ?more|every \pL+ must` + // English
		`|nie(?:mals)?|immer|ab jetzt|ab sofort|künftig|nicht mehr` + // German
		`|jamais|toujours|désormais|dorénavant|ne \pL+ plus` + // French
		`|nunca|jamás|siempre|sempre|de ahora en adelante|a partir de agora` + // Spanish and Portuguese
		`|всегда|никогда|впредь|больше не` // Russian
	lastingSigns = `总是|始终|从不|绝不|今后|不再|絶対|常に|今後|항상|절대`
)

// isLasting reports whether the user sets a rule that holds for more than the current task, or ends such a rule. A
// report such as "the build always fails" has the same words, but is no rule.
func isLasting(sentence string) bool {
	if isQuestion(sentence) || len(codeSign().FindAllString(inlineCode().ReplaceAllString(sentence, ""), 2)) > 1 {
		return false
	}
	if rulesEnd().MatchString(sentence) {
		return true
	}
	if i := strings.LastIndexByte(sentence, ':'); i >= 0 && lasting().MatchString(sentence[i:]) { // "The rule: always use tabs."
		sentence = strings.TrimSpace(sentence[i+1:])
	}
	return lasting().MatchString(sentence) && !report().MatchString(sentence) && !tellsWhatHappens(sentence) &&
		(!aboutThings().MatchString(sentence) || modal().MatchString(sentence))
}

// tellsWhatHappens looks at the verb after "always" or "never": "always fails" and "never worked" report something.
func tellsWhatHappens(sentence string) bool {
	for _, m := range verbAfter().FindAllStringSubmatch(sentence, -1) {
		before, verb := m[1], strings.ToLower(m[2])
		switch {
		case slices.Contains(imperatives, verb):
		case strings.HasSuffix(verb, "ed") && len(verb) > 4, strings.HasSuffix(verb, "s") && !strings.HasSuffix(verb, "ss") && len(verb) > 3,
			slices.Contains([]string{"was", "were", "been", "had", "did", "got", "said", "saw", "seen", "mind"}, verb),
			before != "" && slices.Contains([]string{"get", "see", "fail", "crash", "hang"}, verb):
			return true
		}
	}
	return false
}

// imperatives look like other forms of a verb.
var imperatives = []string{"alias", "embed", "exceed", "feed", "focus", "heed", "need", "proceed", "seed", "speed", "succeed"}

var (
	lasting = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:^|[^\pL])(?:` + lastingWords + `)(?:[^\pL]|$)|^in (?:the )?future[^\pL]|` + lastingSigns)
	})
	rulesEnd = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(?:please )?(?:(?:forget|ignore|drop) (?:about |the |my |that )|stop \pL+ing[^\pL])|^you (?:can|may) .*[^\pL]again[^\pL]*$`)
	})
	verbAfter = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(^|[^\pL])(?:always|never|no longer) (\pL+)`)
	})
	// The pattern `report` matches sentences that only report something, such as "it is always red" and "ich sehe immer
	// einen Fehler".
	report = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:^|[^\pL])(?:is|are|was|were|has|have|had|it|this) (?:always|never|no longer)[^\pL]|(?:^|[^\pL])immer (?:noch|wieder)[^\pL]|^je n['’]ai[^\pL]|^j['’]ai[^\pL]|^ich (?:sehe|habe|bekomme)[^\pL]`)
	})
	// aboutThings matches sentences about something, for example "Le test échoue toujours." Such a sentence is a rule only
	// with a word such as "must" (see modal).
	aboutThings = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(?:the|this|that|it|le|la|les|ce|cette|ça|il|elle|el|los|las|este|esta) |^l['’]`)
	})
	modal = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:^|[^\pL])(?:must|shall|should|ha[sv]e? to|needs? to|important|doi(?:t|vent)|faut|deben?|hay que|devem?)(?:[^\pL]|$)`)
	})
	exception = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(?:except|unless|außer|sauf|excepto|salvo|exceto)[^\pL]`)
	})
	inlineCode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`[^`]*`") })
	codeSign   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[{}=<>|$;]|://`) })
	// pastedLine matches indented code (but no item of a list), the lines of a diff, and the comments of a program.
	pastedLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:    |\t)\s*[^-*+\s\d]|^[-+][^\s]|^ +\* |^\s*(?://|/\*)`)
	})
)
