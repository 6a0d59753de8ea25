package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

type HistorySession struct {
	Harness      schema.Harness `json:"harness"`
	Session      string         `json:"session"`
	Title        string         `json:"title,omitzero"`
	Directory    string         `json:"directory,omitzero"`
	Compartments int            `json:"compartmentCount"`
	Messages     int            `json:"messages"` // the number of messages that the compartments cover
	RawTokens    int            `json:"rawTokens"`
	Fidelity     float64        `json:"fidelity"`
	NewestAt     int64          `json:"newestAt,omitzero"` // Unix ms
}

// An Extent says which messages of a session can be read (First and Last are ordinals), and from which file.
type Extent struct {
	First, Last int
	Path        string
}

const noHistory = "No session has summaries yet. The first ones come when a session nears the limit of its window; " +
	"%s status shows how full each one is."

func PrintHistories(w io.Writer, all []HistorySession, p Page) error {
	s := p.screen()
	if len(all) == 0 {
		s.paragraph(Plain, " ", fmt.Sprintf(noHistory, p.Program))
		return s.print(w)
	}
	rest := []tableColumn{
		{"ID", idColumns, true, func(i int) string { return endOf(all[i].Session) }},
		{"MESSAGES", 8, true, func(i int) string { return fmt.Sprint(all[i].Messages) }},
		{"AGO", 6, true, func(i int) string { return format.AgeOf(all[i].NewestAt, s.now) }},
		{"FIDELITY", 8, true, func(i int) string { return format.Percent(all[i].Fidelity) }},
		{"SUMMARIES", 9, true, func(i int) string { return fmt.Sprint(all[i].Compartments) }},
		{"TOKENS", 6, true, func(i int) string { return format.Tokens(all[i].RawTokens) }},
		{"HARNESS", 9, false, func(i int) string { return format.Clean(string(all[i].Harness)) }},
		{"PROJECT", 14, false, func(i int) string { return projectOf(all[i].status()) }},
	}
	s.table(len(all), tableColumn{"SESSION", maxTitle, false, func(i int) string { return titleOf(all[i].status()) }}, rest)
	return s.print(w)
}

// A table shows only the last idColumns characters of a session's id. In a command, the end of an id is enough to name
// a session.
const idColumns = 10

// endOf returns the end of an id, for a table. If the id contains a control character, endOf removes it, and the user
// cannot use the result to name the session.
func endOf(id string) string {
	runes := []rune(format.Clean(id))
	return string(runes[max(0, len(runes)-idColumns):])
}

func (h HistorySession) status() schema.SessionStatus {
	return schema.SessionStatus{Harness: h.Harness, Session: h.Session, Title: h.Title, Directory: h.Directory}
}

func PrintHistory(w io.Writer, h HistorySession, all []chronicle.Compartment, p Page) error {
	s := p.screen()
	s.historyHeader(h)
	if len(all) == 0 {
		s.line("")
		s.paragraph(Plain, " ", "This session has no summaries yet: the model reads all of its messages.")
		return s.print(w)
	}
	s.line("")
	s.table(len(all), tableColumn{"SUMMARY", maxTitle, false, func(i int) string { return format.Clean(all[i].Title) }}, []tableColumn{
		{"MESSAGES", 11, true, func(i int) string { return all[i].Range().String() }},
		{"FIDELITY", 8, true, func(i int) string { return format.Percent(all[i].Fidelity) }},
		{"TOKENS", 6, true, func(i int) string { return format.Tokens(all[i].RawTokens) }},
		{"AGO", 6, true, func(i int) string { return format.AgeOf(all[i].CreatedAt, s.now) }},
		{"MADE BY", 10, false, func(i int) string { return format.Clean(string(all[i].MadeBy)) }},
	})
	return s.print(w)
}

func PrintCompartments(w io.Writer, h HistorySession, all []chronicle.Compartment, p Page) error {
	s := p.screen()
	s.historyHeader(h)
	for _, c := range all {
		s.line("")
		s.line(" " + s.Paint(Strong, format.Cut("messages "+c.Range().String()+": "+format.Clean(c.Title), s.width-2)))
		for _, tier := range c.Tiers[:min(1, len(c.Tiers))] {
			for line := range strings.Lines(strings.TrimSpace(format.CleanLines(tier))) {
				s.paragraph(Plain, "   ", line)
			}
		}
		s.line("")
		s.fact("fidelity", format.Percent(c.Fidelity))
		if c.Missing != "" {
			s.fact("missing", format.Clean(c.Missing))
		}
		s.fact("made by", strings.TrimSpace(format.Clean(string(c.MadeBy))+" "+format.Clean(c.Model)))
		s.fact("stands for", format.Tokens(c.RawTokens)+" tokens, importance "+fmt.Sprint(c.Importance)+" of 100")
		s.fact("age", format.AgeOf(c.CreatedAt, s.now))
	}
	return s.print(w)
}

func (s *screen) historyHeader(h HistorySession) {
	s.line(" " + s.Paint(Strong, format.Cut(titleOf(h.status()), s.width-2)))
	sum := format.Count(h.Compartments, "summary")
	if h.Messages > 0 {
		sum += fmt.Sprintf(" of messages 1-%d", h.Messages)
	}
	about := []string{sum, format.Tokens(h.RawTokens) + " tokens", "fidelity " + format.Percent(h.Fidelity)}
	if h.Compartments == 0 {
		about = about[:1]
	}
	about = append(about, projectOf(h.status()), format.Clean(string(h.Harness)), format.Clean(h.Session))
	s.line(" " + format.Cut(about[0], s.width-2) + s.Paint(Faint, cutRest(about, s.width-2)))
}

// PrintMessage prints the parts of a raw message, and an empty line. Each part begins with a label, for example
// "[12]", and its other lines are indented. Long lines stay whole, so that they can be copied.
func PrintMessage(w io.Writer, parts []string, p Page) error {
	s := p.screen()
	for _, part := range parts {
		label, text, _ := strings.Cut(strings.TrimRight(format.CleanLines(part), " \n"), " ")
		for line := range strings.SplitSeq(s.Paint(Strong, label)+" "+text, "\n") {
			s.line(line)
		}
	}
	s.line("")
	return s.print(w)
}

func PrintExtent(w io.Writer, e Extent, p Page) error {
	s := p.screen()
	s.line(s.Paint(Faint, fmt.Sprintf("The session has the messages %d to %d, in %s", e.First, e.Last, format.Clean(e.Path))))
	return s.print(w)
}

type tableColumn struct {
	title   string
	width   int
	isRight bool
	cell    func(row int) string
}

func (c tableColumn) pad(text string) string {
	return column{width: c.width, isRight: c.isRight}.pad(text)
}

// The method `table` gives the first column the width that the other columns leave free, but no more than it needs. If
// the screen is too narrow, the method leaves out the last columns, and names them below the table.
func (s *screen) table(rows int, first tableColumn, rest []tableColumn) {
	free, fitting := s.width-2-minTitle, 0
	for fitting < len(rest) && rest[fitting].width+2 <= free {
		free -= rest[fitting].width + 2
		fitting++
	}
	first.width = min(minTitle+free, first.width)
	draw := func(text func(tableColumn) string) string {
		line := " " + first.pad(text(first))
		for _, c := range rest[:fitting] {
			line += "  " + c.pad(text(c))
		}
		return strings.TrimRight(line, " ")
	}
	s.line(s.Paint(Faint, draw(func(c tableColumn) string { return c.title })))
	for row := range rows {
		s.line(draw(func(c tableColumn) string { return c.cell(row) }))
	}
	if fitting < len(rest) {
		names := ""
		for _, c := range rest[fitting:] {
			names += ", " + c.title
		}
		s.paragraph(Faint, " ", "A wider terminal also shows "+names[len(", "):]+".")
	}
}
