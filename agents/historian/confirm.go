package historian

import (
	"cmp"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// Unconfirmed counts parts of an answer that the raw messages do not confirm.
type Unconfirmed struct {
	// Quotes counts the lines "U: …" that contain words that the user has not typed in the compartment's range. A line
	// in several tiers is counted once.
	Quotes int
	// Unsourced facts name no messages. Misplaced facts name messages outside the chunk. Unfounded facts share no
	// anchor with their messages, or quote words that the user has not typed.
	Unsourced, Misplaced, Unfounded int
}

func (u Unconfirmed) Facts() int { return u.Unsourced + u.Misplaced + u.Unfounded }

// LogValue implements slog.LogValuer.
func (u Unconfirmed) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("quotes", u.Quotes), slog.Int("unsourced", u.Unsourced), slog.Int("misplaced", u.Misplaced), slog.Int("unfounded", u.Unfounded))
}

// confirm removes the parts that the raw messages do not confirm.
func (c *candidate) confirm(j *Job) {
	for i := range c.compartments {
		q := quotes{typed: typedIn(within(j.Raw(), c.compartments[i].Range())), refused: map[string]bool{}}
		q.confirm(&c.compartments[i])
		c.unconfirmed.Quotes += len(q.refused)
	}
	if !j.takesObservations() {
		c.draft.Observations = nil
	}
	if j.WithoutFacts {
		c.draft.Facts = nil
		return
	}
	c.draft.Observations = confirmObservations(c.draft.Observations, j)
	c.confirmItems(j)
	c.unconfirmed.Unsourced = c.draft.Unsourced
	chunk, e := j.Chunk.Range, newEvidence(j.Raw())
	c.draft.Facts = slices.DeleteFunc(c.draft.Facts, func(f chronicle.Fact) bool {
		q := quotes{typed: typedIn(within(j.Raw(), f.Source)), refused: map[string]bool{}}
		switch {
		case !chunk.Holds(f.Source.Start) || !chunk.Holds(f.Source.End):
			c.unconfirmed.Misplaced++
		case !e.supports(f) || q.line(f.Content) != f.Content:
			c.unconfirmed.Unfounded++
		default:
			return false
		}
		return true
	})
}

// `quotes` compares the lines "U: …" of a compartment with the words that the user has typed in its range.
//
// A quote begins with "U:" at the start of a line, or after a character that is neither a letter nor a digit. It ends
// with its line. At the start of a line, other forms also begin a quote, for example "u :", "**U**：", "1. User:" or
// "Human:". A quote is kept if one message of the user contains its words in the same order, without other words
// between them. The comparison ignores case, blanks, line breaks, forms of quotation marks, and marks around the quote.
// If a message contains only the first sentences of a quote, only these sentences are kept.
type quotes struct {
	typed []haystack
	// `seen` counts the quotes, and `refused` holds the quotes that were removed or shortened.
	seen    int
	refused map[string]bool
}

func typedIn(messages []Message) []haystack {
	var all []haystack
	for _, m := range messages {
		if m.Role == User && len(m.Texts) > 0 {
			all = append(all, haystack{text: quotable(strings.Join(m.Texts, " "))})
		}
	}
	return all
}

// confirm removes unconfirmed quotes from a compartment's title and tiers. If the second or third tier is then empty,
// it gets the text of the tier before.
func (q *quotes) confirm(c *chronicle.Compartment) {
	c.Title = cmp.Or(strings.TrimSpace(q.line(c.Title)), fmt.Sprintf("Messages %d to %d", c.Start, c.End))
	var tiers [4]string
	for i, tier := range c.Tiers {
		var kept []string
		for line := range strings.SplitSeq(tier, "\n") {
			if confirmed := q.line(line); confirmed == line || strings.ContainsFunc(confirmed, isWord) {
				kept = append(kept, confirmed)
			}
		}
		tiers[i] = strings.TrimSpace(strings.Join(kept, "\n"))
	}
	tiers[0] = cmp.Or(tiers[0], tiers[1], tiers[2], tiers[3], c.Title)
	tiers[1] = cmp.Or(tiers[1], tiers[0])
	tiers[2] = cmp.Or(tiers[2], tiers[1])
	c.Tiers = tiers
}

// WithoutQuotes cleans a compartment's texts, and removes all quotes of the user. It is for a compartment whose quotes
// cannot be compared with the user's words, for example the harness's own summary.
func WithoutQuotes(c chronicle.Compartment) chronicle.Compartment {
	c.Title = clean(c.Title)
	for i, tier := range c.Tiers {
		c.Tiers[i] = clean(tier)
	}
	(&quotes{refused: map[string]bool{}}).confirm(&c)
	return c
}

func (q *quotes) line(line string) string {
	marks := quoteMarks(line)
	if len(marks) == 0 {
		return line
	}
	kept := line[:marks[0].start]
	for i, mark := range marks {
		end := len(line)
		if i+1 < len(marks) {
			end = marks[i+1].start
		}
		words := line[mark.end:end]
		confirmed := ""
		if q.seen++; q.seen <= maxQuotes {
			confirmed = q.beginning(words)
		}
		if confirmed == "" || len(confirmed) < len(words) {
			q.refused[quotable(words)] = true
		}
		if confirmed != "" {
			kept += line[mark.start:mark.end] + confirmed
		}
	}
	return strings.TrimRight(kept, " \t")
}

// These limits bound the time that a hostile answer can cost. A normal compartment has a few quotes of a few sentences
// each.
const (
	maxQuotes = 200 // quotes of a compartment that are compared; further quotes are removed
	maxQuoted = 20  // sentences of a quote that are compared one by one
)

// The method `beginning` returns the longest beginning of a quote, in whole sentences, that one message of the user
// contains, or "".
func (q *quotes) beginning(words string) string {
	if q.stands(words) {
		return words
	}
	confirmed := 0
	for range maxQuoted {
		next := confirmed + sentenceEnd(words[confirmed:])
		if next >= len(words) || !q.stands(words[:next]) {
			break
		}
		confirmed = next
	}
	return words[:confirmed]
}

func (q *quotes) stands(words string) bool {
	needle := strings.Trim(quotable(words), " \"'`*_.…")
	return needle != "" && slices.ContainsFunc(q.typed, func(m haystack) bool { return m.contains(needle) })
}

func quotable(text string) string { return normalise(quotationMarks.Replace(text)) }

var quotationMarks = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "«", `"`, "»", `"`, "‘", "'", "’", "'", "\ufeff", " ")

// quoteMark matches "U:". At the start of a line, it also matches similar letters and colons, and invisible characters
// between them. A path such as U:\tmp is not a quote.
var quoteMark = sync.OnceValue(func() *regexp.Regexp {
	const (
		unseen = `[\s\p{Z}\p{Cf}\p{M}]*`
		start  = `^[^\pL]*?`
		u      = `[UuＵｕᵁᵘⓊⓤ🄤🅄🅤🆄Սս𝐔𝐮𝑈𝑢𝑼𝒖𝒰𝓊𝓤𝓾𝔘𝔲𝕌𝕦𝖀𝖚𝖴𝗎𝗨𝘂𝘜𝘶𝙐𝙪𝚄𝚞]`
		bold   = `(?:\*{1,3}|_{1,3}|~~|` + "`" + `)?`
		colon  = unseen + `[:：∶︓﹕꞉ː]`
		forms  = bold + `(?:` + u + `|[UuＵｕ]ser|USER|[Hh]uman|HUMAN)` + unseen + bold + colon + bold
	)
	return regexp.MustCompile(`(?:` + start + `(` + forms + `)|[^\pL\pN_](U` + colon + `))(?:[^\\/]|[\\/]\s|$)`)
})

func quoteMarks(line string) (marks []struct{ start, end int }) {
	for _, at := range quoteMark().FindAllStringSubmatchIndex(line, -1) {
		start, end := at[2], at[3]
		if start < 0 {
			start, end = at[4], at[5]
		}
		marks = append(marks, struct{ start, end int }{start, end})
	}
	return marks
}

type evidence struct {
	messages       []Message
	texts, outputs int // how many bytes may still be searched
	prepared       map[place]*haystack
}

// A place is a key of evidence.prepared. It is a message, either with or without the texts that other authors wrote,
// for example outputs of tools.
type place struct {
	message    int
	withOthers bool
}

func newEvidence(messages []Message) *evidence {
	return &evidence{messages: messages, texts: scannedTexts, outputs: scannedOutputs, prepared: map[place]*haystack{}}
}

// supports reports whether a message in the fact's source range contains an anchor of the fact. If a fact has no
// anchors, its whole text counts as one anchor, so one of the messages must say the same. For a rule or a constraint,
// texts by other authors do not count. Otherwise, a web page that the agent has read could make rules for every later
// session.
func (e *evidence) supports(f chronicle.Fact) bool {
	anchors := anchorsOfFact(f.Content)
	withOthers := f.Category != "PROJECT_RULES" && f.Category != "CONSTRAINTS"
	for i := range e.messages {
		if !f.Source.Holds(e.messages[i].Ordinal) {
			continue
		}
		h := e.haystack(place{i, withOthers})
		if slices.ContainsFunc(anchors, h.holds) {
			return true
		}
	}
	return false
}

// anchorsOfFact returns the anchors of a fact. If it finds none, the whole content of the fact is the only anchor.
func anchorsOfFact(content string) []Anchor {
	c := newCollector()
	c.words(content, 0)
	c.matches(SymbolAnchor, quotedWords(), content, 0)
	if len(c.found) == 0 {
		return []Anchor{{Kind: TodoAnchor, Text: content}}
	}
	return c.found
}

var quotedWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\"([^\"]{3,80})\"|“([^”]{3,80})”|`([^`]{3,80})`")
})

// haystack returns the text of a message in a form that can be searched. If at.withOthers is false, it leaves out the
// texts of other authors.
func (e *evidence) haystack(at place) *haystack {
	if h := e.prepared[at]; h != nil {
		return h
	}
	m := &e.messages[at.message]
	var parts []string
	for _, text := range m.Texts {
		parts = append(parts, scan(text, &e.texts))
	}
	for _, call := range m.Calls {
		for _, a := range stringArguments(call.Arguments) {
			parts = append(parts, scan(a.text, &e.texts))
		}
	}
	if at.withOthers {
		for _, text := range m.Others {
			parts = append(parts, scan(text, &e.outputs))
		}
		for _, call := range m.Calls {
			parts = append(parts, scan(call.Output, &e.outputs))
		}
	}
	h := newHaystack("", [4]string{strings.Join(parts, "\n")}, nil)
	e.prepared[at] = &h
	return &h
}
