package view

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/words"
	"github.com/magicctx/magicctx-host/schema"
)

func SeveralHarnesses(sessions []schema.SessionStatus) bool {
	for _, st := range sessions {
		if st.Harness != sessions[0].Harness {
			return true
		}
	}
	return false
}

type column struct {
	title   string
	width   int
	isRight bool
	cell    func(*screen, schema.SessionStatus) (text string, colour Colour)
}

// rank orders the columns by importance: a narrow screen leaves out the columns with the highest rank first.
var listColumns = []struct {
	rank int
	column
}{
	{5, column{"MODEL", 18, false, func(_ *screen, st schema.SessionStatus) (string, Colour) { return modelOf(st), Plain }}},
	{7, column{"ID", idColumns, true, func(_ *screen, st schema.SessionStatus) (string, Colour) { return endOf(st.Session), Plain }}},
	{8, column{"PROJECT", 14, false, func(_ *screen, st schema.SessionStatus) (string, Colour) { return projectOf(st), Plain }}},
	{0, column{"FULL", 4, true, func(_ *screen, st schema.SessionStatus) (string, Colour) { return percentOf(st), pressureColour(st) }}},
	{3, column{"TOKENS", 6, true, func(_ *screen, st schema.SessionStatus) (string, Colour) { return format.Tokens(st.InputTokens), Plain }}},
	{6, column{"DROPPED", 7, true, func(_ *screen, st schema.SessionStatus) (string, Colour) {
		return format.Tokens(st.Tokens.Dropped), Plain
	}}},
	{2, column{"HITS", 4, true, func(_ *screen, st schema.SessionStatus) (string, Colour) { return words.HitRate(st), Plain }}},
	{4, column{"BUSTS", 5, true, func(_ *screen, st schema.SessionStatus) (string, Colour) { return dashIfZero(st.Busts), Plain }}},
	{2, column{"SAVED", 7, true, func(_ *screen, st schema.SessionStatus) (string, Colour) { return shortSavedOf(st), Plain }}},
	{9, column{"LAST", 22, false, func(_ *screen, st schema.SessionStatus) (string, Colour) {
		switch cause := format.Cause(st.LastCause); {
		case st.LastPassBust && cause != "":
			return "bust: " + cause, Notice
		case st.LastPassBust:
			return "bust", Notice
		case st.Passes == 0:
			return "-", Plain
		default:
			return cmp.Or(cause, "no bust"), Plain
		}
	}}},
	{1, column{"AGO", 6, true, func(s *screen, st schema.SessionStatus) (string, Colour) {
		return format.AgeOf(st.LastPassAt, s.now), Plain
	}}},
}

// If sessions of several harnesses are shown, harnessColumn is the first column after the title.
var harnessColumn = column{"HARNESS", 9, false, func(_ *screen, st schema.SessionStatus) (string, Colour) {
	return format.Clean(string(st.Harness)), Plain
}}

// The title of a session gets the width that the other columns leave, within these bounds.
const (
	minTitle  = 16
	tinyTitle = 8 // on a screen narrower than roomyWidth
	maxTitle  = 72
)

func (s *screen) layout() (title int, shown []column) {
	least := minTitle
	if s.width < roomyWidth {
		least = tinyTitle
	}
	free := s.width - 2 - least
	if s.namesHarness {
		shown, free = append(shown, harnessColumn), free-harnessColumn.width-2
	}
	fits := make(map[int]bool)
	for rank := 0; rank <= len(listColumns); rank++ {
		for i, c := range listColumns {
			if c.rank == rank && c.width+2 <= free {
				free -= c.width + 2
				fits[i] = true
			}
		}
	}
	for i, c := range listColumns {
		if fits[i] {
			shown = append(shown, c.column)
		}
	}
	return min(least+free, maxTitle), shown
}

func (s *screen) listTitles() {
	title, shown := s.layout()
	line := " " + format.Left("SESSION", title)
	for _, c := range shown {
		line += "  " + c.pad(c.title)
	}
	s.line(s.Paint(Faint, line))
}

func (c column) pad(text string) string {
	if c.isRight {
		return format.Right(text, c.width)
	}
	return format.Left(text, c.width)
}

func (s *screen) row(st schema.SessionStatus, isSelected bool) {
	title, shown := s.layout()
	name := format.Left(titleOf(st), title)
	line := " " + name
	if isSelected {
		line = s.Paint(Strong, "▸"+name)
	}
	for _, c := range shown {
		text, colour := c.cell(s, st)
		line += "  " + s.Paint(colour, c.pad(text))
	}
	s.line(line)
}

func pressureColour(st schema.SessionStatus) Colour {
	switch {
	case st.Pressure >= forcePressure:
		return Alarm
	case st.Threshold > 0 && st.Pressure >= st.Threshold:
		return Notice
	}
	return Plain
}

func percentOf(st schema.SessionStatus) string {
	if st.ContextTokens == 0 {
		return "?"
	}
	return format.Percent(st.Pressure)
}

func shortSavedOf(st schema.SessionStatus) string {
	if st.Saved == nil {
		return "?"
	}
	return strings.Replace(format.Dollars(st.Saved.Money), "less than ", "<", 1)
}

func dashIfZero(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
