package historian

import (
	"cmp"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Unconfirmed counts what a run has left out of a model's answer, because the raw messages do not confirm it.
type Unconfirmed struct {
	// Quotes counts the lines "U: …" with words that the user has not typed in the compartment's range. A line that
	// several tiers have counts once.
	Quotes int
	// Unsourced counts the facts that name no messages, Misplaced those that name messages outside the chunk, and
	// Unfounded those that share no anchor with the messages that they name.
	Unsourced, Misplaced, Unfounded int
}

// Facts returns the number of facts that were left out.
func (u Unconfirmed) Facts() int { return u.Unsourced + u.Misplaced + u.Unfounded }

// LogValue implements slog.LogValuer. It has a key for each count.
func (u Unconfirmed) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("quotes", u.Quotes), slog.Int("unsourced", u.Unsourced), slog.Int("misplaced", u.Misplaced), slog.Int("unfounded", u.Unfounded))
}

// confirm leaves out of a valid answer what the raw messages do not confirm.
func (c *candidate) confirm(j *Job) {
	for i := range c.compartments {
		q := quotes{typed: typedIn(within(j.Raw(), c.compartments[i].Range)), refused: map[string]bool{}}
		c.compartments[i].Tiers = q.confirm(&c.compartments[i])
		c.unconfirmed.Quotes += len(q.refused)
	}
	if j.WithoutFacts {
		c.draft.Facts = nil
		return
	}
	c.unconfirmed.Unsourced = c.draft.Unsourced
	chunk, e := Range{j.Chunk.Start, j.Chunk.End}, newEvidence(j.Raw())
	c.draft.Facts = slices.DeleteFunc(c.draft.Facts, func(f Fact) bool {
		switch {
		case !chunk.holds(f.Source.Start) || !chunk.holds(f.Source.End):
			c.unconfirmed.Misplaced++
		case !e.supports(f):
			c.unconfirmed.Unfounded++
		default:
			return false
		}
		return true
	})
}

// quotes compares the lines "U: …" of a compartment with the words that the user has typed in its range.
//
// A quote begins with "U:" at the start of a line or behind another character than a letter or digit, and ends
// with its line. It stays if one message of the user has its words in the same order, without others between
// them. Case, blanks, line breaks, forms of quotation marks, and marks around the quote do not count. If only the
// first sentences of a quote stand in a message, only they stay.
type quotes struct {
	typed []haystack
	// seen counts the quotes. refused holds the ones that were left out or shortened.
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

// confirm returns the tiers of a compartment without the quotes that no message confirms. If nothing else is left
// of a tier, the tier above it takes its place.
func (q *quotes) confirm(c *Compartment) (tiers [4]string) {
	for i, tier := range c.Tiers {
		var kept []string
		for line := range strings.SplitSeq(tier, "\n") {
			if confirmed := q.line(line); confirmed == line || strings.Trim(confirmed, " \t-*>") != "" {
				kept = append(kept, confirmed)
			}
		}
		tiers[i] = strings.TrimSpace(strings.Join(kept, "\n"))
	}
	tiers[0] = cmp.Or(tiers[0], tiers[1], tiers[2], tiers[3], c.Title)
	tiers[1] = cmp.Or(tiers[1], tiers[0])
	tiers[2] = cmp.Or(tiers[2], tiers[1])
	return tiers
}

// line returns a line of a tier without its unconfirmed quotes.
func (q *quotes) line(line string) string {
	marks := quoteMark().FindAllStringSubmatchIndex(line, -1)
	if len(marks) == 0 {
		return line
	}
	kept := line[:marks[0][2]]
	for i, at := range marks {
		end := len(line)
		if i+1 < len(marks) {
			end = marks[i+1][2]
		}
		words := line[at[3]:end]
		confirmed := ""
		if q.seen++; q.seen <= maxQuotes {
			confirmed = q.beginning(words)
		}
		if confirmed == "" || len(confirmed) < len(words) {
			q.refused[quotable(words)] = true
		}
		if confirmed != "" {
			kept += line[at[2]:at[3]] + confirmed
		}
	}
	return strings.TrimRight(kept, " \t")
}

// These bounds limit the time for hostile answers. A compartment has a few quotes of a few sentences.
const (
	maxQuotes = 200 // of a compartment that are looked for; others are left out
	maxQuoted = 20  // sentences of a quote that are looked for one by one
)

// beginning returns the sentences at the beginning of a quote that stand in one message of the user: all of them,
// some, or none.
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

// quotable returns a text in the form in which quotes are compared.
func quotable(text string) string { return normalise(quotationMarks.Replace(text)) }

var quotationMarks = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "«", `"`, "»", `"`, "‘", "'", "’", "'", "\ufeff", " ")

// quoteMark matches "U:" in front of a quote. A path such as U:\tmp is not a quote.
var quoteMark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|[^\pL\pN_])(U:)(?:[^\\/]|$)`) })

// evidence holds the raw messages of a chunk, for the search for the anchors of facts.
type evidence struct {
	messages       []Message
	texts, outputs int // how many bytes may still be searched
	prepared       map[int]*haystack
}

func newEvidence(messages []Message) *evidence {
	return &evidence{messages: messages, texts: scannedTexts, outputs: scannedOutputs, prepared: map[int]*haystack{}}
}

// supports reports whether a message of the fact's range has an anchor of the fact: a path, a commit, a number, a
// symbol or quoted words. If a fact has no anchors, a sentence must say the same.
func (e *evidence) supports(f Fact) bool {
	anchors := anchorsOfFact(f.Content)
	for i := range e.messages {
		if !f.Source.holds(e.messages[i].Ordinal) {
			continue
		}
		h := e.haystack(i)
		if slices.ContainsFunc(anchors, h.holds) {
			return true
		}
	}
	return false
}

// anchorsOfFact returns the anchors of a fact. A fact without any is an anchor itself.
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

// haystack returns a message's texts, arguments and outputs, and the words of others, prepared for the search.
func (e *evidence) haystack(i int) *haystack {
	if h := e.prepared[i]; h != nil {
		return h
	}
	m := &e.messages[i]
	var parts []string
	for _, text := range m.Texts {
		parts = append(parts, scan(text, &e.texts))
	}
	for _, text := range m.Others {
		parts = append(parts, scan(text, &e.outputs))
	}
	for _, call := range m.Calls {
		for _, a := range stringArguments(call.Arguments) {
			parts = append(parts, scan(a.text, &e.texts))
		}
		parts = append(parts, scan(call.Output, &e.outputs))
	}
	h := newHaystack("", [4]string{strings.Join(parts, "\n")}, nil)
	e.prepared[i] = &h
	return &h
}
