package view

import (
	"strings"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

// A source is a part of a prompt, for example the results of tools.
type source struct {
	name   string
	tokens int64
	colour Colour
	// plain fills the bar where there are no colours.
	plain rune
}

func sources(t schema.TokensBySource) []source {
	return []source{
		{"system prompt", t.System, "38;5;67", '█'},
		{"tool definitions", t.ToolDefinitions, "38;5;109", '▓'},
		{"summarised history", t.Head, "38;5;96", '#'},
		{"text", t.Text, "38;5;108", '▒'},
		{"files", t.Files, "38;5;139", '%'},
		{"tool inputs", t.ToolInputs, "38;5;179", '='},
		{"tool results", t.ToolResults, "38;5;173", '░'},
		{"thinking", t.Thinking, "38;5;132", '~'},
	}
}

func promptOf(t schema.TokensBySource) (sum int64) {
	for _, part := range sources(t) {
		sum += part.tokens
	}
	return sum
}

func (s *screen) fill(part source, n int) string {
	cell := part.plain
	if s.Painter {
		cell = '█'
	}
	return s.Paint(part.colour, strings.Repeat(string(cell), n))
}

// A mark is a prompt size at which something happens.
type mark struct {
	name   string
	tokens int64
	colour Colour
}

// From this pressure on, a pass may bust mid-turn.
const forcePressure = 0.85

// forceName is the name of the mark at forcePressure. If a pass busts at or above this mark, the status names the cause
// "85% full" (internal/format), so both texts must have the same number.
const forceName = "85%"

func marksOf(st schema.SessionStatus) []mark {
	if st.ContextTokens == 0 || st.Threshold <= 0 {
		return nil
	}
	window := float64(st.ContextTokens)
	marks := []mark{{"bust", int64(st.Threshold * window), Strong}, {forceName, int64(forcePressure * window), Faint}}
	if n := st.NextBust; n != nil {
		marks = append([]mark{{"low", int64(n.Down), Faint}}, marks...)
	}
	return marks
}

// A longer bar would show no more detail.
const maxBar = 118

// The method `bar` draws the window as a bar, which the parts of the prompt fill from the left, each in its colour. The
// marks are drawn into the bar, and their names below it. If the window is unknown, the prompt fills the whole bar.
func (s *screen) bar(st schema.SessionStatus) {
	cells := min(s.width-2, maxBar)
	parts, prompt := sources(st.Tokens), promptOf(st.Tokens)
	whole := max(int64(st.ContextTokens), prompt, 1)
	at := func(tokens int64) int { return int(min(tokens, whole) * int64(cells) / whole) }
	marks := marksOf(st)
	isMark := make(map[int]mark)
	for _, m := range marks {
		isMark[min(at(m.tokens), cells-1)] = m
	}
	var line strings.Builder
	sum, cell := int64(0), 0
	draw := func(to int, paint func(n int) string) {
		for cell < to {
			if m, ok := isMark[cell]; ok {
				line.WriteString(s.Paint(m.colour, "│"))
				cell++
				continue
			}
			n := cell + 1
			for n < to {
				if _, ok := isMark[n]; ok {
					break
				}
				n++
			}
			line.WriteString(paint(n - cell))
			cell = n
		}
	}
	for _, part := range parts {
		sum += part.tokens
		draw(at(sum), func(n int) string { return s.fill(part, n) })
	}
	draw(cells, func(n int) string { return s.Paint(Faint, strings.Repeat("·", n)) })
	s.line(" " + line.String())
	s.line(" " + s.markNames(marks, at, cells))
}

// markNames writes the name of each mark to the right of the mark, or to its left if there is no room. The high mark
// comes first. If a name fits on neither side, it is left out.
func (s *screen) markNames(marks []mark, at func(int64) int, cells int) string {
	line := []rune(strings.Repeat(" ", cells))
	isFree := func(from, n int) bool {
		return from >= 0 && from+n <= cells && strings.TrimSpace(string(line[max(0, from-1):min(cells, from+n+1)])) == ""
	}
	for _, wanted := range []string{"bust", "low", forceName} {
		for _, m := range marks {
			if m.name != wanted {
				continue
			}
			name := []rune(m.name + " " + format.Tokens(m.tokens))
			for _, from := range []int{at(m.tokens), at(m.tokens) - len(name) + 1} {
				if isFree(from, len(name)) {
					copy(line[from:], name)
					break
				}
			}
		}
	}
	return s.Paint(Faint, strings.TrimRight(string(line), " "))
}

func (s *screen) legend(t schema.TokensBySource) {
	var entries, painted []string
	for _, part := range sources(t) {
		if part.tokens == 0 {
			continue
		}
		text := format.Cut(part.name+" "+format.Tokens(part.tokens), s.width-4)
		if s.isPlain {
			entries, painted = append(entries, text), append(painted, text)
			continue
		}
		entries = append(entries, "█ "+text)
		painted = append(painted, s.fill(part, 1)+" "+text)
	}
	s.flow(entries, painted)
}

// The method `flow` prints the entries on as many lines as they need. `painted` holds the same entries with colour
// codes, which take no room on the screen.
func (s *screen) flow(entries, painted []string) {
	line, used := "", 0
	for i, entry := range entries {
		if used > 0 && used+3+format.Columns(entry) > s.width-2 {
			s.line(" " + line)
			line, used = "", 0
		}
		if used > 0 {
			line, used = line+"   ", used+3
		}
		line, used = line+painted[i], used+format.Columns(entry)
	}
	if used > 0 {
		s.line(" " + line)
	}
}
