package words

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

const (
	widgetColumns, widgetLines = 76, 9 // Pi shows at most ten lines
	faultLines                 = 4     // so bar, legend and faults never need more than widgetLines

	barColumns   = 44
	labelColumns = 13
	// A client may ask for any width. Screen raises it to leastColumns or lowers it to mostColumns.
	leastColumns, mostColumns = 24, 160
)

// Each part of the bar has its own character, so that the bar can be read without colours.
var cells = map[string]string{
	"system": "█", "definitions": "▓", "documents": "%", "summaries": "#", "memories": "+", "conversation": "▒", "tools": "░", "thinking": "~",
}

// Widget says the most important things about a session in at most widgetLines lines. A harness without a sidebar
// shows these lines near its prompt, where space is short. So their words are shorter than those of the panel.
func Widget(p *schema.Panel) []string {
	if len(p.Parts) == 0 {
		return nil
	}
	lines := append([]string{barOf(p, barColumns) + "  " + p.Size}, flow(legendOf(p, func(part schema.PanelPart) string { return part.Source }), "  ", widgetColumns)...)
	var facts, faults []string
	problems := 0
	for _, f := range p.Facts {
		switch {
		case f.Tone == "alarm" || f.Tone == "notice":
			if problems++; problems == 1 {
				faults = faultOf(f.Text)
			}
		case f.Label == "summaries" || f.Label == "memories" || f.Label == "taken out": // the bar already shows these sizes
		default:
			text, _, _ := strings.Cut(f.Text, " on prompts")
			facts = append(facts, format.Cut(labelOf(f)+" "+strings.TrimSuffix(text, " of all prompts"), widgetColumns))
		}
	}
	if more := problems - 1; more > 0 {
		faults = append(faults, fmt.Sprintf("! %s more: /ctx-status", format.Count(more, "problem")))
	}
	rest := flow(facts, " · ", widgetColumns)
	return append(append(lines, faults...), rest[:min(len(rest), widgetLines-len(lines)-len(faults))]...)
}

// faultOf breaks the text of a problem into lines. The remedy stands at the end of the text.
func faultOf(text string) []string {
	lines := format.Folded(text, widgetColumns-2)
	if len(lines) > faultLines {
		lines = lines[:faultLines]
		lines[faultLines-1] = format.Cut(lines[faultLines-1], widgetColumns-4) + " …"
	}
	for i, line := range lines {
		lines[i] = "  " + line
	}
	lines[0] = "!" + lines[0][1:]
	return lines
}

// Screen describes a session in lines for a terminal of this width: its panel, and the newest pieces that were taken
// out of the prompt. `returnable` are the pieces that the user can bring back. `summarised` is the number of all other
// removed pieces.
func Screen(st schema.SessionStatus, returnable []schema.DroppedUnit, summarised, columns int) []string {
	p, columns := st.Panel, min(max(columns, leastColumns), mostColumns)
	lines := []string{format.Cut(strings.TrimSpace("magicctx  "+format.Clean(st.Title)), columns), format.Cut(p.Size, columns), "", barOf(p, columns)}
	lines = append(append(lines, flow(legendOf(p, func(part schema.PanelPart) string { return part.Name }), "   ", columns)...), "")
	for _, f := range p.Facts {
		lines = append(lines, labelled(labelOf(f), f.Text, columns)...)
	}
	lines = append(append(lines, ""), format.Folded("Taken out of the prompt: "+Dropped(st), columns)...)
	for i, u := range returnable {
		if i == screenPieces {
			lines = append(lines, fmt.Sprintf("… and %d older ones", len(returnable)-i))
			break
		}
		lines = append(lines, Piece(u, columns))
	}
	for _, text := range Summarised(summarised) {
		lines = append(lines, format.Folded(text, columns)...)
	}
	return lines
}

// Summarised returns a line about the n dropped pieces that cannot come back, because their messages are summarised.
// The line says how the user can see these messages. If n is 0, Summarised returns no line.
func Summarised(n int) []string {
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Not listed: %s of messages that are summarised. %s", format.Count(n, "piece"), readSummaries)}
}

const screenPieces = 50

// Piece describes a piece in at most the given columns, for example "§6§ read main.go  1.2k tokens, old tool output". It
// cuts the argument of a call first, so that size and reason stay visible, and cuts a path at its start.
func Piece(u schema.DroppedUnit, columns int) string {
	text := fmt.Sprintf("  %s tokens", format.Tokens(u.Tokens))
	if u.Rule != "" {
		text += ", " + RuleName(u.Rule)
	}
	room := max(columns-format.Columns(text), leastName)
	name := format.Cut(format.Piece(u.Tag, cmp.Or(u.Tool, u.Kind), ""), room)
	if about := format.Clean(u.About); about != "" {
		cut := format.Cut
		if isPath := !strings.Contains(about, " "); isPath {
			cut = format.CutStart
		}
		name += " " + cut(about, room-format.Columns(name)-1)
	}
	return format.Cut(name+text, columns)
}

const leastName = 20

// Kept describes the state of a piece that the user wants to keep: it is on the wire, or it waits for the next bust.
func Kept(u schema.KeptUnit) string {
	if u.Waits {
		return "it comes back when the provider has to read the prompt again anyway, and if it fits"
	}
	return "it stays in the prompt as long as there is room"
}

// barOf draws the window as a bar: the parts of the prompt, the free space, and a mark at the size from which the next
// bust may come.
func barOf(p *schema.Panel, columns int) string {
	sum, whole := int64(0), max(p.Window, 1)
	for _, part := range p.Parts {
		sum += part.Tokens
	}
	whole = max(whole, sum)
	at := func(tokens int64) int { return int(min(tokens, whole) * int64(columns) / whole) }
	var b strings.Builder
	sum = 0
	for _, part := range p.Parts {
		from := at(sum)
		sum += part.Tokens
		b.WriteString(strings.Repeat(cells[part.Source], at(sum)-from))
	}
	b.WriteString(strings.Repeat("·", columns-at(sum)))
	bar := []rune(b.String())
	if p.Bust > 0 {
		bar[min(at(p.Bust), columns-1)] = markCell
	}
	return string(bar)
}

func legendOf(p *schema.Panel, name func(schema.PanelPart) string) (entries []string) {
	for _, part := range p.Parts {
		entries = append(entries, cells[part.Source]+" "+name(part)+" "+part.Size)
	}
	return entries
}

const markCell = '│'

// labelOf returns the label of a fact. The label "next bust" gets the character that marks the next bust in the bar.
func labelOf(f schema.PanelFact) string {
	if f.Label == "next bust" {
		return f.Label + " " + string(markCell)
	}
	return f.Label
}

// flow puts as many texts as fit on each line. A text that is longer than a line continues on the next line.
func flow(texts []string, between string, columns int) (lines []string) {
	line := ""
	for _, text := range texts {
		if line != "" && format.Columns(line+between+text) <= columns {
			line += between + text
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		folded := format.Folded(text, columns)
		lines, line = append(lines, folded[:len(folded)-1]...), folded[len(folded)-1]
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

func labelled(label, text string, columns int) (lines []string) {
	for _, line := range format.Folded(text, columns-labelColumns) {
		lines = append(lines, format.Left(label, labelColumns)+line)
		label = ""
	}
	return lines
}
