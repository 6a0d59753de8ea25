package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

// Screen lays out its lines for a terminal of at least this size. A smaller terminal shows only a part of the drawing.
const (
	minWidth  = 20
	minHeight = 3
	// From this size on, the screen has labels, the line about the host, and empty lines.
	roomyWidth  = 36
	roomyHeight = 8
)

type screen struct {
	width, height int
	now           time.Time
	namesHarness  bool
	program       string // the command that starts this program
	// inASCII draws with ASCII only. isPlain leaves out the bar, for a screen reader.
	inASCII, isPlain bool
	Painter
	lines []string
}

func (s *screen) joined() string {
	text := strings.Join(s.lines, "\n")
	if s.inASCII {
		return inASCII(text)
	}
	return text
}

func (s *screen) line(text string) { s.lines = append(s.lines, strings.TrimRight(text, " ")) }

func (s *screen) room() int { return s.height - 1 - len(s.lines) }

// Screen draws live data as at most `height` lines of at most `width` columns, without a newline at the end. `below` is
// the number of lines of a session or text that do not fit.
func Screen(v Live, width, height int, now time.Time) (drawn string, below int) {
	s := screen{width: max(width, minWidth), height: max(height, minHeight), now: now, program: v.Program, Painter: Painter(v.Color), inASCII: v.ASCII}
	s.away(v)
	opened, top := v.opened(), 0
	if v.Page == nil && v.Status != nil {
		s.namesHarness = SeveralHarnesses(v.Status.Sessions)
		s.troubles(*v.Status)
		if s.height >= roomyHeight {
			s.header(*v.Status, v.Away != "")
		}
	}
	fixed := len(s.lines)
	switch {
	case v.Page != nil:
		s.text(*v.Page)
		top = v.Page.Top
	case v.Status == nil:
		s.line(s.Paint(Strong, " magicctx"))
		s.line("")
		s.paragraph(Plain, " ", format.Clean(v.Away))
		s.paragraph(Plain, " ", "Waiting for a host: it starts with the first session.")
	case opened != nil:
		s.session(*opened, v.requests[nameOf(*opened)])
		top = v.Choice.Top
	case v.Choice.Opened != "":
		s.paragraph(Plain, " ", "The host no longer lists this session: others are newer. esc shows them.")
	case len(v.Status.Sessions) == 0:
		s.noSession()
	default:
		s.sessions(*v.Status, v.Choice)
	}
	fixed = min(fixed, s.height-2)
	body := s.lines[min(fixed, len(s.lines)):]
	room := s.height - 1 - fixed
	top = min(max(0, top), max(0, len(body)-room))
	body = body[top:]
	below = max(0, len(body)-room)
	s.lines = append(s.lines[:min(fixed, len(s.lines)):fixed], body[:min(room, len(body))]...)
	for len(s.lines) < s.height-1 {
		s.line("")
	}
	help := v.help()
	if below > 0 {
		help = append([]string{fmt.Sprintf("↓ %d more", below)}, help...)
	}
	first := format.Cut(help[0], s.width-1)
	if v.Choice.Typing != TypesNothing && first != help[0] { // the person types at the end of the text
		first = lastColumns(help[0], s.width-1)
	}
	help[0] = first
	s.line(s.Paint(Faint, " "+first+cutRest(help, s.width-1)))
	return s.joined(), below
}

// lastColumns cuts off the beginning of a text, so that the rest, with a "…" before it, fits into n columns.
func lastColumns(text string, n int) string {
	runes := []rune(text)
	first := len(runes)
	for used := 1; first > 0 && used+format.RuneColumns(runes[first-1]) <= n; first-- {
		used += format.RuneColumns(runes[first-1])
	}
	return "…" + string(runes[first:])
}

func (s *screen) noSession() {
	s.line("")
	s.paragraph(Plain, " ", "No session yet. Sessions appear here with their first message.")
}

func (s *screen) paragraph(c Colour, margin, text string) {
	for _, line := range format.Folded(text, s.width-format.Columns(margin)-1) {
		s.line(s.Paint(c, margin+line))
		margin = strings.Repeat(" ", format.Columns(margin))
	}
}

func (s *screen) away(v Live) {
	if v.Status != nil && v.Away != "" {
		s.line(s.Paint(Alarm, format.Cut(fmt.Sprintf(" The host has been away for %s, trying again (%s). It said last:", format.Age(s.now.Sub(v.AwaySince)), format.Clean(v.Away)), s.width)))
	}
}

// The status command prints all lines of warnings.
const maxWarningLines = 4

// The method `troubles` first draws the faults that stop magicctx, in red and with their remedies. Below them, it draws
// the warnings about a configuration, in yellow.
func (s *screen) troubles(st schema.StatusResult) {
	broken, odd := split(st)
	if len(broken) > 0 {
		s.paragraph(Alarm, " ✗ ", "magicctx is not working. Remedy: "+s.program+" doctor")
	}
	from := len(s.lines)
	for _, text := range broken {
		s.paragraph(Alarm, "   ", text)
	}
	for _, text := range odd {
		s.paragraph(Notice, " ! ", text)
	}
	if s.height > 0 && len(s.lines) > from+maxWarningLines {
		s.lines = s.lines[:from+maxWarningLines-1]
		s.line(s.Paint(Notice, format.Cut(" ! and more: "+s.program+" status", s.width)))
	}
}

// The function `split` separates the faults that stop magicctx (`broken`) from all other warnings (`odd`).
func split(st schema.StatusResult) (broken, odd []string) {
	isListed := false
	for _, w := range st.Warnings {
		text := format.Clean(w.Message)
		isListed = isListed || st.Reason != "" && strings.Contains(w.Message, st.Reason)
		if w.Source == "store" { // without a store, the prompts of all sessions are sent unchanged
			broken = append(broken, text)
		} else {
			odd = append(odd, text)
		}
	}
	if !st.Enabled && !isListed {
		broken = append([]string{format.Clean(st.Reason)}, broken...)
	}
	return broken, odd
}

func (s *screen) header(st schema.StatusResult, isAway bool) {
	facts := []string{" magicctx " + format.Clean(st.Version)}
	if st.PID == 0 {
		facts = append(facts, "no host runs: the last known sessions")
	} else if isAway {
		facts = append(facts, "away")
	} else {
		facts = append(facts, "up "+format.AgeOf(st.StartedAt, s.now))
	}
	if st.Saved != nil && st.Saved.Money != 0 {
		facts = append(facts, format.Saving(st.Saved.Money))
	}
	if st.PID == 0 {
		name := format.Cut(facts[0], s.width)
		facts[0] = name
		s.line(s.Paint(Strong, name) + cutRest(facts, s.width))
		return
	}
	facts = append(facts, format.Count(max(st.KnownSessions, len(st.Sessions)), "session"), format.Count(st.HarnessClients(), "client"),
		format.Bytes(st.MemoryBytes)+" memory", format.Bytes(st.StoreBytes)+" stored", fmt.Sprintf("process %d", st.PID))
	name := format.Cut(facts[0], s.width)
	facts[0] = name
	s.line(s.Paint(Strong, name) + cutRest(facts, s.width))
}

const listLines = 4

func (s *screen) sessions(st schema.StatusResult, c Choice) {
	shown := c.apply(st.Sessions)
	if len(shown) == 0 {
		s.line("")
		s.paragraph(Plain, " ", "No session matches "+format.Clean(strings.TrimSpace(string(c.Harness)+" "+c.Filter))+".")
		return
	}
	selected := min(max(c.Selected, 0), len(shown)-1)
	card := *s
	card.lines = nil
	card.card(shown[selected])
	if list := max(min(len(shown)+2, 8), listLines); s.room() < len(card.lines)+list {
		card.lines = nil
		card.summary(shown[selected])
	}
	if s.room() >= len(card.lines)+listLines {
		s.lines = append(s.lines, card.lines...)
	}
	if s.height >= roomyHeight {
		s.line("")
	}
	s.listTitles()
	known := max(st.KnownSessions, len(st.Sessions))
	if c.Filter != "" || c.Harness != "" {
		known = len(shown)
	}
	rows := min(len(shown), max(1, s.room()))
	if rows < known && rows > 1 && rows == s.room() {
		rows--
	}
	first := min(max(0, selected-rows+1), len(shown)-rows)
	for i, session := range shown[first : first+rows] {
		s.row(session, first+i == selected)
	}
	if more := known - rows; more > 0 && s.room() > 0 {
		s.line(s.Paint(Faint, fmt.Sprintf(" … %d more", more)))
	}
}
