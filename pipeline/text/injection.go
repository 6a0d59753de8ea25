package text

import (
	"regexp"
	"strings"
)

var (
	reminder  = regexp.MustCompile(`(?is)<system-reminder>.*?</system-reminder>`)
	initiator = regexp.MustCompile(regexp.QuoteMeta(initiatorComment))
	emptyLine = regexp.MustCompile(`\n[ \t\r]*\n`)
	listItem  = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])\s`)
)

// HasInjection reports whether a text probably contains a part that a harness or a plugin has added. It also recognises
// a directive of this program, which StripInjections does not remove.
func HasInjection(text string) bool {
	for _, m := range []string{initiatorComment, ourDirectiveOpens, orchestratorOpens} {
		if strings.Contains(text, m) {
			return true
		}
	}
	for _, m := range paragraphMarkers {
		if strings.Contains(text, m) {
			return true
		}
	}
	return reminder.MatchString(text)
}

// StripInjections removes everything that harnesses and plugins have added to a text: reminder blocks, initiator
// comments, orchestrator directives with their lists, and paragraphs that begin with one of the paragraphMarkers. It
// also trims the text. If there is nothing to remove, it returns the text unchanged.
func StripInjections(text string) string {
	if !HasInjection(text) {
		return text
	}
	return trimJS(strip(text).text)
}

// A Piece is a part of a text. Injected means that a harness or a plugin has probably written it.
type Piece struct {
	Text     string
	Injected bool
}

// Pieces divides a text into the pieces that StripInjections keeps and the pieces that it removes. If the kept pieces
// together still look injected (IsInjectedOnly), Pieces assumes that the whole text was injected, and returns it as one
// piece.
func Pieces(text string) []Piece {
	if !HasInjection(text) {
		return []Piece{{text, IsInjectedOnly(text)}}
	}
	left := strip(text)
	if IsInjectedOnly(left.text) {
		return []Piece{{text, true}}
	}
	var pieces []Piece
	add := func(from, to int, injected bool) {
		if from < to {
			pieces = append(pieces, Piece{text[from:to], injected})
		}
	}
	end := 0 // the end of the previous piece
	for i := 0; i < len(left.at); {
		from := i
		for i++; i < len(left.at) && left.at[i] == left.at[i-1]+1; i++ {
		}
		add(end, left.at[from], true)
		end = left.at[i-1] + 1
		add(left.at[from], end, false)
	}
	add(end, len(text), true)
	return pieces
}

// A remainder is what is left of a text after removals. at[i] is the place of text[i] in the original text.
type remainder struct {
	text string
	at   []int
}

func (r *remainder) remove(ranges ...[]int) {
	if len(ranges) == 0 {
		return
	}
	var b strings.Builder
	var at []int
	end := 0
	for _, taken := range append(ranges, []int{len(r.text), len(r.text)}) {
		b.WriteString(r.text[end:taken[0]])
		at = append(at, r.at[end:taken[0]]...)
		end = taken[1]
	}
	r.text, r.at = b.String(), at
}

func strip(text string) remainder {
	r := remainder{text: text, at: make([]int, len(text))}
	for i := range r.at {
		r.at[i] = i
	}
	r.remove(reminder.FindAllStringIndex(r.text, -1)...)
	r.remove(initiator.FindAllStringIndex(r.text, -1)...)
	r.remove(directives(r.text)...)
	for _, m := range paragraphMarkers {
		if i := strings.Index(r.text, m); i >= 0 {
			r.remove([]int{i, i + paragraphLen(r.text[i:])})
		}
	}
	return r
}

func directives(text string) (ranges [][]int) {
	for from := 0; ; {
		at := directive.FindStringIndex(text[from:])
		if at == nil {
			return ranges
		}
		start, end := from+at[0], from+at[1]
		from = end + directiveLen(text[end:])
		ranges = append(ranges, []int{start, from})
	}
}

// directiveLen returns the length of a directive at the start of s. A directive ends at an empty line. But if a list
// follows the empty line, the list belongs to the directive.
func directiveLen(s string) int {
	end := 0
	for {
		at := emptyLine.FindStringIndex(s[end:])
		if at == nil {
			return len(s)
		}
		next := strings.TrimLeft(s[end+at[1]:], "\t\n\f\r ") // skips all empty lines at once, so that no line is read twice
		if !listItem.MatchString(next) {
			return end + at[0]
		}
		end = len(s) - len(next)
	}
}

func paragraphLen(s string) int {
	if at := emptyLine.FindStringIndex(s); at != nil {
		return at[0]
	}
	return len(s)
}

// IsInjectedOnly reports whether the whole text is the initiator comment or one reminder block, or begins with an
// injected directive or warning.
func IsInjectedOnly(text string) bool {
	text = trimJS(text)
	if text == initiatorComment {
		return true
	}
	for _, opening := range injectedOpenings {
		if strings.HasPrefix(text, opening) {
			return true
		}
	}
	// The match ends at the first closing tag. So if the text has two blocks with other text between them, the match
	// does not reach the end of the text.
	at := reminder.FindStringIndex(text)
	return at != nil && at[0] == 0 && at[1] == len(text)
}
