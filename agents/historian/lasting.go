package historian

import (
	"regexp"
	"strings"
	"sync"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// maxLasting limits the lasting rules of one compartment. If a range has more, they are probably pasted text.
const maxLasting = 40

// lastingRules returns the sentences with which the user has set a rule for more than the current task, for example
// "Always answer in French." If the next sentence is an exception, it belongs to the rule. These rules do not share the
// limit of RuleAnchor, because almost every prompt has sentences such as "You should look at this file."
func lastingRules(messages []Message) []chronicle.Rule {
	var rules []chronicle.Rule
	seen := map[string]bool{}
	left := scannedTexts
	for _, m := range messages {
		if m.Role != User {
			continue
		}
		for _, text := range m.Texts {
			said := sentences(notPasted(unquoted(scan(text, &left))))
			for i, s := range said {
				if s = oneLine(s); !isRule(s) || !isLasting(s) || seen[s] {
					continue
				}
				seen[s] = true
				if i+1 < len(said) && exception().MatchString(said[i+1]) {
					s += " " + oneLine(said[i+1])
				}
				if rules = append(rules, chronicle.Rule{Words: s, Message: m.Ordinal}); len(rules) == maxLasting {
					return rules
				}
			}
		}
	}
	return rules
}

// notPasted removes indented lines and the new lines of a diff, which are usually pasted.
func notPasted(text string) string {
	var typed strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "+") {
			typed.WriteString(line)
		}
	}
	return typed.String()
}

// These words mark a rule that holds for more than the current task, or a sentence that ends such a rule.
const (
	lastingWords = `never|always|from now on|without exception|under no circumstances|at all times|for the rest of|in (?:the )?future|no longer|not any ?more|forget (?:about|the|my|that)|every \pL+ must` + // English
		`|nie(?:mals)?|immer|ab jetzt|ab sofort|künftig|nicht mehr` + // German
		`|jamais|toujours|désormais|dorénavant|ne \pL+ plus` + // French
		`|nunca|jamás|siempre|sempre|de ahora en adelante|a partir de agora|ya no` + // Spanish and Portuguese
		`|всегда|никогда|впредь|больше не` // Russian
	lastingSigns = `总是|始终|从不|绝不|今后|不再|絶対|常に|今後|항상|절대`
)

// isLasting reports whether a rule holds for more than the current task, or ends such a rule. A report such as "the
// build always fails" has the same words, but is no rule.
func isLasting(rule string) bool {
	return lasting().MatchString(rule) && !report().MatchString(rule) && (!aboutThings().MatchString(rule) || modal().MatchString(rule))
}

var (
	lasting = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:^|[^\pL])(?:` + lastingWords + `)(?:[^\pL]|$)|` + lastingSigns)
	})
	// The pattern `report` matches sentences that only report something, such as "always fails", "never worked", "is always red" and "I
	// never said that". It also matches code. A verb that ends in "ss" does not match, because it may follow "always" in a
	// rule, as in "always pass errors on".
	report = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:always|never|no longer) (?:\pL+[^s\P{L}]s|\pL{3,}ed|was|were|been|got|had|did)\b|\b(?:is|are|was|were|has|have|had|it|this) (?:always|never|no longer)\b` +
			`|^i (?:have )?(?:never|always) (?:said|saw|seen|thought)\b|^never ?mind\b|\bimmer (?:noch|wieder)\b|^je n['’]ai\b|[{}=<>|;$]|://`)
	})
	// The pattern aboutThings matches sentences about something, for example "Le test échoue toujours." Such a sentence is a rule only
	// with a word such as "must" (see modal).
	aboutThings = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(?:the|this|that|it|le|la|les|ce|cette|ça|il|elle|der|die|das|es|el|los|las|este|esta|os|as) |^l['’]`)
	})
	modal = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:^|[^\pL])(?:must|shall|should|ha[sv]e? to|needs? to|doi(?:t|vent)|faut|muss|müssen|soll(?:en|te|ten)?|darf|dürfen|deben?|hay que|devem?)(?:[^\pL]|$)`)
	})
	exception = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(?:except|unless|but|only|außer|aber|nur|sauf|mais|excepto|salvo|pero|exceto|mas)[^\pL]`)
	})
)
