package view

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

// layout holds the widths of the columns that depend on the width of the screen. A column of width 0 is
// not drawn.
type layout struct{ project, session, model, bar, window, dropped, queued, cause int }

// fixedColumns is the width of all other columns of a row: margin, percent, hit rate, busts, verdict
// and age, with the spaces between them.
const fixedColumns = 1 + (1 + 4) + (2 + 4) + (1 + 5) + (2 + 6) + (1 + 6)

func layoutFor(width int) layout {
	l := layout{project: 12, model: 14, bar: 10, window: 5}
	left := width - fixedColumns - l.project - (1 + l.model) - (2 + l.bar) - (1 + l.window)
	take := func(column *int, to, gap int) {
		if more := to - *column; more+gap <= left {
			*column = to
			left -= more + gap
		}
	}
	take(&l.cause, 14, 1)
	take(&l.session, 8, 1)
	take(&l.bar, 15, 0)
	take(&l.dropped, 7, 1)
	take(&l.queued, 6, 1)
	take(&l.model, 22, 0)
	take(&l.bar, 20, 0)
	take(&l.project, 24, 0)
	if left > 0 {
		l.project += min(left, 20)
	}
	if left < 0 { // on a narrow screen the model gives way
		l.model = max(0, l.model+left)
	}
	return l
}

// The heights of the newest session's details, in full and as a summary.
const (
	detailLines  = 14
	summaryLines = 5
)

func (s *screen) sessions(st *schema.StatusResult) {
	all, known := st.Sessions, max(st.KnownSessions, len(st.Sessions))
	l := layoutFor(s.width)
	s.line("")
	s.line(s.Paint(Faint, s.titles(l)))
	rows := min(len(all), s.room())
	if rows < known && rows == s.room() {
		rows = max(0, rows-1)
	}
	for _, session := range all[:rows] {
		s.row(l, session)
	}
	if more := known - rows; more > 0 && s.room() > 0 {
		s.line(s.Paint(Faint, fmt.Sprintf(" and %s, last used before these", format.Count(more, "session"))))
	}
	switch {
	case s.room() >= detailLines:
		s.details(all[0])
	case s.room() >= summaryLines:
		s.summary(all[0])
	}
}

func (s *screen) titles(l layout) string {
	var b strings.Builder
	b.WriteString(" " + left("PROJECT", l.project))
	cell := func(width, gap int, text string) {
		if width > 0 {
			b.WriteString(strings.Repeat(" ", gap) + text)
		}
	}
	cell(l.session, 1, left("SESSION", l.session))
	cell(l.model, 1, left("MODEL", l.model))
	cell(l.bar, 2, left("CONTEXT", l.bar+1+4+1+l.window))
	cell(l.dropped, 1, right("DROPPED", l.dropped))
	cell(l.queued, 1, right("QUEUED", l.queued))
	b.WriteString("   HIT BUSTS  " + left("LAST", 6))
	cell(l.cause, 1, left("CAUSE", l.cause))
	b.WriteString(" " + right("AGO", 6))
	return b.String()
}

func (s *screen) row(l layout, st schema.SessionStatus) {
	var b strings.Builder
	b.WriteString(" " + left(projectOf(st), l.project))
	if l.session > 0 {
		b.WriteString(" " + left(tail(format.Clean(st.Session), l.session), l.session))
	}
	if l.model > 0 {
		b.WriteString(" " + left(modelOf(st), l.model))
	}
	b.WriteString("  " + s.pressure(st, l.bar) + " " + s.Paint(pressureColour(st), right(percentOf(st), 4)))
	b.WriteString(" " + right(format.Tokens(st.InputTokens), l.window))
	if l.dropped > 0 {
		b.WriteString(" " + right(format.Tokens(st.Tokens.Dropped), l.dropped))
	}
	if l.queued > 0 {
		b.WriteString(" " + right(dashIfZero(st.Queued), l.queued))
	}
	b.WriteString("  " + right(hitOf(st), 4) + " " + right(dashIfZero(st.Busts), 5))
	c := Plain
	if st.LastPassBust {
		c = Notice
	}
	b.WriteString("  " + s.Paint(c, left(cmp.Or(string(st.LastVerdict), "-"), 6)))
	if l.cause > 0 {
		b.WriteString(" " + left(format.Clean(st.LastCause), l.cause))
	}
	b.WriteString(" " + right(format.AgeOf(st.LastPassAt, s.now), 6))
	s.line(b.String())
}

// pressure draws how full the window is, with a mark at the pressure from which a pass may bust.
func (s *screen) pressure(st schema.SessionStatus, cells int) string {
	if st.ContextTokens == 0 {
		return s.Paint(Faint, strings.Repeat("·", cells))
	}
	filled := bar(st.Pressure, cells)
	rest := []rune(strings.Repeat("·", cells-columns(filled)))
	if mark := int(st.Threshold*float64(cells)) - columns(filled); st.Threshold > 0 && mark >= 0 && mark < len(rest) {
		rest[mark] = '│'
	}
	return s.Paint(pressureColour(st), filled) + s.Paint(Faint, string(rest))
}

// forcePressure is the pressure from which a pass may bust in the middle of a turn.
const forcePressure = 0.85

func pressureColour(st schema.SessionStatus) Colour {
	switch {
	case st.Pressure >= forcePressure:
		return Alarm
	case st.Threshold > 0 && st.Pressure >= st.Threshold:
		return Notice
	}
	return Plain
}

func projectOf(st schema.SessionStatus) string {
	name := "-"
	if st.Directory != "" {
		name = path.Base(strings.ReplaceAll(st.Directory, `\`, "/"))
	}
	if st.Parent != "" {
		name = "↳ " + name
	}
	return format.Clean(name)
}

func modelOf(st schema.SessionStatus) string {
	return format.Clean(cmp.Or(path.Base(cmp.Or(st.Model.ID, "-")), "-"))
}

func percentOf(st schema.SessionStatus) string {
	if st.ContextTokens == 0 {
		return "?"
	}
	return format.Percent(st.Pressure)
}

func hitOf(st schema.SessionStatus) string {
	if st.CacheRead+st.CacheWrite+st.CacheFresh == 0 {
		return "-"
	}
	return format.Percent(st.CacheHitRate)
}

func dashIfZero(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
