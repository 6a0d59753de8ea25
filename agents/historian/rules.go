package historian

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Very long sentences are pasted text.
func sentences(text string) []string {
	return slices.DeleteFunc(splitSentences(text), func(s string) bool { return len(s) > maxSentence })
}

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

// sentenceEnd returns the index after the first sentence of a line. A full stop ends a sentence only before a blank, so
// "v1.2" and "main.go" stay whole. The full-width marks of Chinese and Japanese need no blank.
func sentenceEnd(line string) int {
	for i, r := range line {
		end := i + utf8.RuneLen(r)
		switch r {
		case '.', '!', '?', ';':
			if end < len(line) && (line[end] == ' ' || line[end] == '\t') {
				return end
			}
		case '。', '！', '？', '；':
			return end
		}
	}
	return len(line)
}

// isRule looks for words of obligation, wish and choice in several languages. A question is never a rule. If isRule
// accepts a sentence that is not a rule, the sentence becomes one more anchor, which does little harm.
func isRule(sentence string) bool {
	return !isQuestion(sentence) && ruleWords().MatchString(sentence)
}

func isQuestion(sentence string) bool {
	sentence = strings.TrimRight(sentence, `"'”’»)] `)
	return strings.HasSuffix(sentence, "?") || strings.HasSuffix(sentence, "？")
}

var ruleWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[^\pL])(?:` + lastingWords + `|` + strings.Join([]string{
		// English
		`must(?:n't)?`, `do not`, `don['’]?t`, `shall`, `should(?:n't)?`, `only`, `required?`, `mandatory`,
		`forbidden`, `not allowed`, `no longer`, `make sure`, `ensure`, `keep`, `prefer`, `instead of`, `rather than`,
		`remember`, `avoid`, `stick to`, `at most`, `at least`, `we (?:use|want|need|agreed|decided)`, `i (?:want|need|insist)`, `stop \pL+ing`,
		// German
		`muss`, `müssen`, `darf`, `dürfen`, `soll(?:en|te|ten)?`, `nur`, `kein(?:e|en|er|em)?`, `stattdessen`, `bitte nicht`,
		// French
		`doi(?:t|vent|s)`, `il faut`, `interdit`,
		// Spanish and Portuguese
		`debe(?:n|s)?`, `hay que`, `deve(?:m)?`,
	}, "|") + `)(?:[^\pL]|$)|必须|不要|必ず|しないで|` + lastingSigns)
})

// isDecision reports whether a sentence states a decision, for example "We keep port 4001". A question ("Do we keep
// …?"), a condition ("If we keep …") and an open point are not decisions.
func isDecision(sentence string) bool {
	return withoutDecisionWord(sentence) != sentence && !openWords().MatchString(sentence)
}

// withoutDecisionWord returns the sentence without the word that marks it as a decision, for example "keep". It tries
// the pattern only at the start of each word, because an unanchored search would take about five times as long.
func withoutDecisionWord(sentence string) string {
	before := ' '
	for i, r := range sentence {
		if unicode.IsLetter(r) && (r >= firstHan || !unicode.IsLetter(before)) {
			if found := decisionWord().FindString(sentence[i:]); found != "" {
				return sentence[:i] + sentence[i+len(found):]
			}
		}
		before = r
	}
	return sentence
}

// The characters from firstHan on belong to scripts that have no blanks between words, for example Chinese and
// Japanese.
const firstHan = '\u2E80'

var decisionWord = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:(?:` + strings.Join([]string{
		// English
		`decided`, `decision\W{0,3}:`, `the decision (?:is|was)`, `agreed(?: (?:on|to|that)|:)`, `settled? on`, `opt(?:ed|ing)? for`, `cho(?:se|sen)`, `ruled out`, `rejected`, `root cause`, `conclusion:`,
		`we(?:['’]ll| will| now)? (?:keep|use|stick (?:to|with)|stay (?:on|with)|go with)`, `we(?:['’]re| are) (?:keeping|sticking|staying|going with)`,
		`i(?:['’]ll| will) (?:keep the|stick (?:to|with)|stay (?:on|with)|go with)`, `i(?:['’]m| am) (?:keeping the|sticking|staying (?:on|with)|going with)`,
		`switch(?:ed|ing) (?:to|from)`, `revert(?:ed|ing) to`, `instead of`, `rather than`, `from now on`, `no longer use`,
		// German
		`entschieden`, `entscheidung`, `beschlossen`, `festgelegt`, `es bleibt bei`, `wir (?:bleiben|behalten|nehmen|nutzen|verwenden|lassen)`, `ich (?:bleibe|behalte|belasse)`, `(?:aus)?gewählt`, `statt(?:dessen)?`, `anstelle`,
		// French
		`décidé(?:e|s|es)?`, `décision`, `on (?:garde|conserve|reste|utilise|choisit|passe à)`, `nous (?:gardons|conservons|restons|utilisons|choisissons|passons à)`, `je (?:garde|conserve|choisis)`,
		`choisi(?:e|s|es)?`, `retenu(?:e|s|es)?`, `au lieu d`, `plutôt qu`,
		// Spanish and Portuguese
		`decidid[ao]s?`, `decid(?:imos|í|ió|ido|iu|i)`, `decisión`, `decisão`, `mantenemos`, `mantengo`, `mantemos`, `mantenho`, `(?:nos )?quedamos con`, `me quedo con`, `ficamos com`, `fico com`,
		`usaremos`, `elegimos`, `elegid[ao]s?`, `escolh(?:emos|i|id[ao]s?)`, `optamos por`, `en lugar de`, `en vez de`, `em vez de`, `ao invés de`,
	}, "|") + `)(?:[^\pL]|$)|决定|決定|我[们們](?:保留|使用|采用|採用|选择|選擇|沿用|坚持|堅持)|改用|选用|選用|采用|採用|沿用|決めた|決めました|ことに(?:する|します|した|しました)|のままに(?:する|します|した|しました))`)
})

// openWords matches questions, conditions, and open decisions.
var openWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)[?？]|[吗嗎か]\W*$|^(?:if|when|unless|whether|wenn|falls|ob|si|se|cuando|quando)[^\pL]|^(?:如果|若|假如|もし)|(?:^|[^\pL])(?:` + strings.Join([]string{
		`not (?:yet )?(?:been )?decided`, `n['’]t (?:yet )?(?:been )?decided`, `to be decided`, `let(?:['’]s| us| me)`, `could`, `might`, `should`, `would`,
		`noch nicht`, `sollten?`, `könnten?`, `pas encore`, `pourrai(?:t|ent|s)`, `todavía no`, `aún no`, `podríamos`, `ainda não`, `poderíamos`,
	}, "|") + `)(?:[^\pL]|$)|尚未|还没|還沒|未决|未決|まだ`)
})

// The function `unquoted` removes code fences and lines that start with ">", because their words come from somewhere
// else, for example from a file.
func unquoted(text string) string {
	var own strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		start := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(start, fence) && strings.Trim(start, fence[:1]) == "" { // a fence inside may name a language
				fence = ""
			}
		case strings.HasPrefix(start, "```"), strings.HasPrefix(start, "~~~"):
			fence = start[:len(start)-len(strings.TrimLeft(start, start[:1]))]
		case !strings.HasPrefix(start, ">"):
			own.WriteString(line)
		}
	}
	return own.String()
}
