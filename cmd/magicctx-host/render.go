package main

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/schema"
)

// A view is the data behind the live status screen.
type view struct {
	// status is the newest answer of the host, nil before the first one.
	status *schema.StatusResult
	// away is the reason why the host does not answer, empty while it does. awaySince is the time at
	// which that began.
	away      string
	awaySince time.Time
	color     bool
}

// render lays out its lines for at least this size. A smaller terminal gets the same drawing and shows
// a part of it.
const (
	minWidth  = 64
	minHeight = 8
)

// maxWarningLines bounds the warnings on the screen. The status command lists them all.
const maxWarningLines = 3

// render draws a view as at most height lines of at most width columns, without a newline at the end.
func render(v view, width, height int, now time.Time) string {
	s := screen{width: max(width, minWidth), height: max(height, minHeight), now: now, color: v.color}
	s.header(v)
	switch {
	case v.status == nil:
		s.line("")
		s.line(" " + cut(clean(v.away), s.width-1))
		s.line(" Waiting for a host: it starts with the first session.")
	case len(v.status.Sessions) == 0:
		s.line("")
		s.line(" No session yet. They appear here with their first message.")
	default:
		s.sessions(v.status)
	}
	for len(s.lines) < s.height-1 {
		s.line("")
	}
	s.line(s.paint(faint, " q quits"))
	return strings.Join(s.lines, "\n")
}

// The colours are named by their meaning.
type colour string

const (
	plain  colour = ""
	faint  colour = "2"
	strong colour = "1"
	notice colour = "33" // yellow
	alarm  colour = "31" // red
)

// A screen is an unfinished drawing.
type screen struct {
	width, height int
	now           time.Time
	color         bool
	lines         []string
}

func (s *screen) line(text string) { s.lines = append(s.lines, strings.TrimRight(text, " ")) }

// room returns the number of free lines above the footer.
func (s *screen) room() int { return s.height - 1 - len(s.lines) }

func (s *screen) paint(c colour, text string) string {
	if !s.color || c == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

func (s *screen) header(v view) {
	name, facts := " magicctx", ""
	if st := v.status; st != nil {
		name += " " + clean(st.Version)
		facts = strings.Join([]string{
			count(len(st.Clients), "client"), count(max(st.KnownSessions, len(st.Sessions)), "session"), byteCount(st.StoreBytes) + " stored",
		}, " · ")
	}
	state := ""
	switch st := v.status; {
	case st == nil:
	case v.away != "":
		state = " · away"
	default:
		state = " · up " + ago(st.StartedAt, s.now) + " · " + byteCount(st.MemoryBytes)
	}
	gap := s.width - columns(name) - columns(state) - columns(facts)
	if gap < 2 {
		facts = ""
	}
	s.line(s.paint(strong, cut(name, s.width-columns(state))) + state + strings.Repeat(" ", max(0, gap)) + facts)
	if v.status == nil {
		return
	}
	if v.away != "" {
		s.line(s.paint(alarm, cut(fmt.Sprintf(" The host has been away for %s, trying again (%s). It said last:", lasted(s.now.Sub(v.awaySince)), clean(v.away)), s.width)))
	}
	s.warnings(v.status.Warnings)
}

func (s *screen) warnings(all []schema.Warning) {
	shown := all
	if len(all) > maxWarningLines {
		shown = all[:maxWarningLines-1]
	}
	for _, w := range shown {
		c := notice
		if w.Source != "config" {
			c = alarm
		}
		s.line(s.paint(c, cut(" ! "+clean(w.Message), s.width)))
	}
	if more := len(all) - len(shown); more > 0 {
		s.line(s.paint(notice, fmt.Sprintf(" ! and %d more; all of them: magicctx-host status", more)))
	}
}

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
	s.line(s.paint(faint, s.titles(l)))
	rows := min(len(all), s.room())
	if rows < known && rows == s.room() {
		rows = max(0, rows-1)
	}
	for _, session := range all[:rows] {
		s.row(l, session)
	}
	if more := known - rows; more > 0 && s.room() > 0 {
		s.line(s.paint(faint, fmt.Sprintf(" and %s, last used before these", count(more, "session"))))
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
		b.WriteString(" " + left(tail(clean(st.Session), l.session), l.session))
	}
	if l.model > 0 {
		b.WriteString(" " + left(modelOf(st), l.model))
	}
	b.WriteString("  " + s.pressure(st, l.bar) + " " + s.paint(pressureColour(st), right(percentOf(st), 4)))
	b.WriteString(" " + right(tokenCount(int64(st.InputTokens)), l.window))
	if l.dropped > 0 {
		b.WriteString(" " + right(tokenCount(st.Tokens.Dropped), l.dropped))
	}
	if l.queued > 0 {
		b.WriteString(" " + right(dashIfZero(st.Queued), l.queued))
	}
	b.WriteString("  " + right(hitOf(st), 4) + " " + right(dashIfZero(st.Busts), 5))
	c := plain
	if st.LastPassBust {
		c = notice
	}
	b.WriteString("  " + s.paint(c, left(cmp.Or(string(st.LastVerdict), "-"), 6)))
	if l.cause > 0 {
		b.WriteString(" " + left(clean(st.LastCause), l.cause))
	}
	b.WriteString(" " + right(ago(st.LastPassAt, s.now), 6))
	s.line(b.String())
}

// pressure draws how full the window is, with a mark at the pressure from which a pass may bust.
func (s *screen) pressure(st schema.SessionStatus, cells int) string {
	if st.ContextTokens == 0 {
		return s.paint(faint, strings.Repeat("·", cells))
	}
	filled := bar(st.Pressure, cells)
	rest := []rune(strings.Repeat("·", cells-columns(filled)))
	if mark := int(st.Threshold*float64(cells)) - columns(filled); st.Threshold > 0 && mark >= 0 && mark < len(rest) {
		rest[mark] = '│'
	}
	return s.paint(pressureColour(st), filled) + s.paint(faint, string(rest))
}

// forcePressure is the pressure from which a pass may bust in the middle of a turn.
const forcePressure = 0.85

func pressureColour(st schema.SessionStatus) colour {
	switch {
	case st.Pressure >= forcePressure:
		return alarm
	case st.Threshold > 0 && st.Pressure >= st.Threshold:
		return notice
	}
	return plain
}

func projectOf(st schema.SessionStatus) string {
	name := "-"
	if st.Directory != "" {
		name = path.Base(strings.ReplaceAll(st.Directory, `\`, "/"))
	}
	if st.Parent != "" {
		name = "↳ " + name
	}
	return clean(name)
}

func modelOf(st schema.SessionStatus) string {
	return clean(cmp.Or(path.Base(cmp.Or(st.Model.ID, "-")), "-"))
}

func percentOf(st schema.SessionStatus) string {
	if st.ContextTokens == 0 {
		return "?"
	}
	return fmt.Sprintf("%.0f%%", 100*st.Pressure)
}

func hitOf(st schema.SessionStatus) string {
	if st.CacheRead+st.CacheWrite+st.CacheFresh == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*st.CacheHitRate)
}

func dashIfZero(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
