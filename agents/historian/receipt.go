package historian

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// A Receipt says how many anchors of the summarised messages a compartment still contains.
type Receipt struct {
	// Found counts the anchors that the compartment contains. All counts the anchors of the summarised messages.
	Found, All int
	// Score is the weight of the found anchors divided by the weight of all anchors, from 0 to 1. If the messages have
	// no anchors, Score is 1.
	Score float64
	// Missing is one line with the most valuable lost anchors, for example "never push to main · db/0031.sql · +4
	// more". The head shows the line with the compartment.
	Missing string
	// Rules are the user's lasting rules in the messages, whether the compartment contains them or not.
	Rules []chronicle.Rule
}

const (
	maxMissing      = 600 // bytes of the line
	maxMissingItem  = 160 // runes of one anchor
	maxMissingItems = 24
	maxHaystack     = 256 << 10 // bytes of a compartment that are searched
	// These bounds limit the time for hostile input, for example 256 KiB of one letter.
	maxOccurrences = 64    // occurrences of one anchor inside longer words
	maxSentences   = 2_000 // sentences that may express an anchor in other words
	// A sentence with at least this share of an anchor's words says the same as the anchor.
	sameWords = 0.7
	// Words are equal if their first stemRunes runes are equal, for example "pushes" and "pushed".
	stemRunes = 5
	// An anchor with fewer words than this must occur literally.
	minStems = 2
)

const missingSeparator = " · "

// Measure looks for the anchors of messages in the title and the tiers of the compartment that summarises them. The
// result depends only on the arguments.
func Measure(messages []Message, title string, tiers [4]string) Receipt {
	anchors := Anchors(messages)
	text := newHaystack(title, tiers, anchors)
	r := Receipt{All: len(anchors), Score: 1}
	var missing []Anchor
	found, all := 0, 0
	for _, a := range anchors {
		weight := anchorKinds[a.Kind].weight
		all += weight
		if text.holds(a) {
			found += weight
			r.Found++
		} else {
			missing = append(missing, a)
		}
	}
	if all > 0 {
		r.Score = float64(found) / float64(all)
	}
	r.Missing = missingLine(missing)
	if r.Rules = lastingRules(messages); len(r.Rules) > 0 {
		countTiers(r.Rules, title, tiers)
	}
	return r
}

// countTiers counts the leading tiers that contain each rule word by word. Other words do not count, because they may
// weaken a rule or turn it around. The head shows the tier before an empty tier 2 or 3.
func countTiers(rules []chronicle.Rule, title string, tiers [4]string) {
	for i, text := range tiers {
		shown := haystack{text: normalise(title + "\n" + text)}
		isEmpty := text == "" && i > 0 && i < len(tiers)-1
		for k := range rules {
			if r := &rules[k]; r.Tiers == i && (isEmpty || shown.contains(normalise(r.Words))) {
				r.Tiers++
			}
		}
	}
}

// missingLine lists the missing anchors in their order. It quotes a tool's words, and says that a tool said them. If an
// anchor does not fit into the line, a later, shorter anchor may still fit. The end of the line counts the omitted
// anchors.
func missingLine(missing []Anchor) string {
	const room = maxMissing - len(missingSeparator+"+9999 more")
	var items []string
	length := 0
	for _, a := range missing {
		item := cut(strings.ReplaceAll(a.Text, "·", " "), maxMissingItem)
		if a.Kind == ToolErrorAnchor {
			item = `a tool said "` + strings.ReplaceAll(item, `"`, "'") + `"`
		}
		if grown := length + len(missingSeparator) + len(item); grown <= room && len(items) < maxMissingItems {
			items, length = append(items, item), grown
		}
	}
	if left := len(missing) - len(items); left > 0 {
		items = append(items, fmt.Sprintf("+%d more", left))
	}
	return strings.Join(items, missingSeparator)
}

type haystack struct {
	text      string // normalised
	sentences []sentence
	// bases maps each file name to the number of paths in the summarised messages that end with it. If the number is 1,
	// the file name alone identifies the path.
	bases map[string]int
}

type sentence struct {
	stems  map[string]bool
	isRule bool
}

func newHaystack(title string, tiers [4]string, anchors []Anchor) haystack {
	text := title + "\n" + strings.Join(tiers[:], "\n")
	if len(text) > maxHaystack {
		text = strings.ToValidUTF8(text[:maxHaystack], "")
	}
	h := haystack{text: normalise(text), bases: map[string]int{}}
	for _, s := range splitSentences(text) {
		if stems := stemSet(s); len(stems) >= minStems && len(h.sentences) < maxSentences {
			h.sentences = append(h.sentences, sentence{stems: stems, isRule: isRule(s)})
		}
	}
	for _, a := range anchors {
		if a.Kind == PathAnchor || a.Kind == WrittenAnchor {
			h.bases[base(normalisePath(a.Text))]++
		}
	}
	return h
}

// holds reports whether the compartment contains the anchor. For some kinds of anchors, for example rules, the
// compartment may use other words.
func (h *haystack) holds(a Anchor) bool {
	switch a.Kind {
	case PathAnchor, WrittenAnchor:
		return h.holdsPath(normalisePath(a.Text))
	case RuleAnchor, DecisionAnchor, TodoAnchor, ErrorAnchor, ToolErrorAnchor, CommandAnchor:
		return h.contains(normalise(a.Text)) || h.says(a)
	case CommitAnchor:
		return h.contains(a.Text) || len(a.Text) > shortHash && strings.Contains(h.text, a.Text[:shortHash])
	default:
		return h.contains(normalise(a.Text))
	}
}

const shortHash = 7

// holdsPath reports whether the compartment names the path. The last two elements of the path are enough. The last
// element alone is enough if it has a dot and no other path of the messages ends with it.
func (h *haystack) holdsPath(path string) bool {
	if h.contains(path) {
		return true
	}
	name := base(path)
	if h.bases[name] == 1 && strings.Contains(name, ".") && h.contains(name) {
		return true
	}
	if parent := strings.TrimSuffix(path, "/"+name); parent != path {
		return h.contains(base(parent) + "/" + name)
	}
	return false
}

func normalisePath(path string) string {
	return strings.Trim(strings.ReplaceAll(strings.ToLower(path), `\`, "/"), "/.")
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// contains looks for needle as a whole word: it does not find "12" in "4123".
func (h *haystack) contains(needle string) bool {
	if needle == "" {
		return true
	}
	from := 0
	for range maxOccurrences {
		at := strings.Index(h.text[from:], needle)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(h.text[:at])
		after, _ := utf8.DecodeRuneInString(h.text[at+len(needle):])
		first, _ := utf8.DecodeRuneInString(needle)
		last, _ := utf8.DecodeLastRuneInString(needle)
		if !(isWord(before) && isWord(first)) && !(isWord(last) && isWord(after)) {
			return true
		}
		_, size := utf8.DecodeRuneInString(h.text[at:])
		from = at + size
	}
	return false
}

func isWord(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// says reports whether a sentence of the compartment contains most words of the anchor. If the anchor is a rule, the
// sentence must be a rule, too: "pushes to main" does not express "never push to main". If the anchor is a decision,
// the sentence need not contain a word such as "keep": "the API listens on port 4001" expresses "we keep port 4001 for
// the API".
func (h *haystack) says(a Anchor) bool {
	text := a.Text
	switch a.Kind {
	case RuleAnchor:
		text = ruleWords().ReplaceAllString(text, " ")
	case DecisionAnchor:
		text = withoutDecisionWord(text)
	}
	stems := stemSet(text)
	if len(stems) < minStems {
		return false
	}
	for _, s := range h.sentences {
		if a.Kind == RuleAnchor && !s.isRule {
			continue
		}
		same := 0
		for stem := range stems {
			if s.stems[stem] {
				same++
			}
		}
		if float64(same) >= sameWords*float64(len(stems)) {
			return true
		}
	}
	return false
}

func stemSet(text string) map[string]bool {
	stems := map[string]bool{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !isWord(r) }) {
		if runes := []rune(word); len(runes) >= 4 || strings.ContainsAny(word, "0123456789") {
			if !strings.ContainsAny(word, "0123456789") {
				runes = runes[:min(len(runes), stemRunes)]
			}
			stems[string(runes)] = true
		}
	}
	return stems
}
