package historian

import (
	"fmt"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// Once an extractive compartment has this many messages, it ends at the next prompt of the user. Compartments from a
// model are about as long.
const extractSpan = 40

// Extract makes compartments from the raw messages without a model. They cover exactly the chunk. They contain the
// user's sentences, decisions, files, commands, errors and commits, and say that no model has written them. Extract
// succeeds for every chunk, and its result depends only on its arguments.
func Extract(chunk *Chunk, raw []Message) []chronicle.Compartment {
	var found []chronicle.Compartment
	for _, r := range turns(chunk, raw) {
		e := extract{Range: r, messages: within(raw, r)}
		e.read()
		found = append(found, chronicle.Compartment{Start: r.Start, End: r.End, Keys: chunk.keys(r), Title: e.title(), Tiers: e.tiers(), Importance: e.importance()})
	}
	return found
}

// turns splits a chunk only before prompts of the user, so that a call and its result stay together.
func turns(chunk *Chunk, raw []Message) []chronicle.Range {
	prompts := map[int]bool{}
	for _, m := range raw {
		prompts[m.Ordinal] = m.Role == User && strings.TrimSpace(strings.Join(m.Texts, "")) != ""
	}
	var ranges []chronicle.Range
	start, length := chunk.Start, 0
	for _, line := range chunk.Lines {
		if prompts[line.Ordinal] && length >= extractSpan {
			ranges = append(ranges, chronicle.Range{Start: start, End: line.Ordinal - 1})
			start, length = line.Ordinal, 0
		}
		length++
	}
	return append(ranges, chronicle.Range{Start: start, End: chunk.End})
}

type extract struct {
	chronicle.Range
	messages []Message
	said     []string // the first sentence of each prompt, and rules
	outcome  string
	anchors  map[AnchorKind][]string
}

// These bounds limit a first tier to about 1,500 tokens.
const (
	maxSaid       = 12
	maxListed     = 20
	maxListedItem = 240 // runes
)

func (e *extract) read() {
	e.anchors = map[AnchorKind][]string{}
	for _, a := range Anchors(e.messages) {
		e.anchors[a.Kind] = append(e.anchors[a.Kind], a.Text)
	}
	left := scannedTexts
	for _, m := range e.messages {
		for _, text := range m.Texts {
			text = text[:min(len(text), scannedText, left)]
			left -= len(text)
			e.readText(m.Role, splitSentences(clean(text)))
		}
	}
}

func (e *extract) readText(role Role, all []string) {
	for i, s := range all {
		s = cut(oneLine(s), maxListedItem)
		switch {
		case role != User && i == 0 && len(quoteMarks(s)) == 0:
			e.outcome = s
		case role == User && len(e.said) < maxSaid && (i == 0 || isRule(s)) && !slices.Contains(e.said, s):
			e.said = append(e.said, s)
		}
	}
}

func (e *extract) title() string {
	const runes = 80
	switch {
	case len(e.said) > 0:
		return cut(e.said[0], runes)
	case len(e.anchors[WrittenAnchor]) > 0:
		return cut("Work on "+e.anchors[WrittenAnchor][0], runes)
	default:
		return "Messages " + e.Range.String()
	}
}

// Routine work has importance 35, and more if the range has rules of the user, changed files or commits.
func (e *extract) importance() int {
	n := 35
	for kind, worth := range map[AnchorKind]int{RuleAnchor: 20, WrittenAnchor: 10, CommitAnchor: 5} {
		if len(e.anchors[kind]) > 0 {
			n += worth
		}
	}
	return n
}

func (e *extract) tiers() [4]string {
	var user []string
	for _, s := range e.said {
		user = append(user, "U: "+s)
	}
	header := fmt.Sprintf("No model has summarised the messages %s. These lines were taken from them by rule.", e.Range)
	facts := []string{
		list("Decisions: ", " / ", e.anchors[DecisionAnchor]),
		list("Files changed: ", ", ", e.anchors[WrittenAnchor]),
		list("Errors: ", " / ", e.anchors[ErrorAnchor]),
		list("Errors that tools reported, in their words: ", " / ", e.anchors[ToolErrorAnchor]),
		list("Commits: ", ", ", e.anchors[CommitAnchor]),
		list("Open: ", " / ", e.anchors[TodoAnchor]),
	}
	last := ""
	if e.outcome != "" {
		last = "Last answer: " + e.outcome
	}
	full := slices.Concat([]string{header}, user, facts, []string{
		list("Commands: ", " / ", e.anchors[CommandAnchor]),
		list("Paths: ", ", ", e.anchors[PathAnchor]),
		list("Names: ", ", ", e.anchors[SymbolAnchor]),
		list("Numbers: ", ", ", e.anchors[NumberAnchor]),
		last,
	})
	rules := list("Rules of the user: ", " / ", e.anchors[RuleAnchor])
	keywords := slices.Concat(e.anchors[CommitAnchor], e.anchors[WrittenAnchor])
	return [4]string{
		lines(full),
		lines(slices.Concat([]string{rules}, facts, []string{last})),
		lines([]string{e.title(), list("Commits: ", ", ", e.anchors[CommitAnchor]), last}),
		list("", ", ", keywords[:min(len(keywords), 6)]),
	}
}

func list(name, separator string, items []string) string {
	if len(items) == 0 {
		return ""
	}
	var shown []string
	for _, item := range items[:min(len(items), maxListed)] {
		shown = append(shown, cut(item, maxListedItem))
	}
	return name + strings.Join(shown, separator)
}

func lines(all []string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), "\n")
}
