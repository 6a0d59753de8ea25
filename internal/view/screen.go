package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

// Live is the data behind the live status screen.
type Live struct {
	// Status is the newest answer of the host, nil before the first one.
	Status *schema.StatusResult
	// Away is the reason why the host does not answer, empty while it does. AwaySince is the time at
	// which that began.
	Away      string
	AwaySince time.Time
	Color     bool
}

// Heard returns the live data after an answer of the host. If status is nil, the host does not answer,
// for the reason that away gives; the last status then stays.
func (v Live) Heard(status *schema.StatusResult, away string, now time.Time) Live {
	switch {
	case status != nil:
		v.Status, v.Away = status, ""
	case v.Away == "":
		v.Away, v.AwaySince = away, now
	default:
		v.Away = away
	}
	return v
}

// Screen lays out its lines for at least this size. A smaller terminal gets the same drawing and shows
// a part of it.
const (
	minWidth  = 64
	minHeight = 8
)

// maxWarningLines bounds the warnings on the screen. The status command lists them all.
const maxWarningLines = 3

// Screen draws live data as at most height lines of at most width columns, without a newline at the
// end.
func Screen(v Live, width, height int, now time.Time) string {
	s := screen{width: max(width, minWidth), height: max(height, minHeight), now: now, Painter: Painter(v.Color)}
	s.header(v)
	switch {
	case v.Status == nil:
		s.line("")
		s.line(" " + cut(format.Clean(v.Away), s.width-1))
		s.line(" Waiting for a host: it starts with the first session.")
	case len(v.Status.Sessions) == 0:
		s.line("")
		s.line(" No session yet. They appear here with their first message.")
	default:
		s.sessions(v.Status)
	}
	for len(s.lines) < s.height-1 {
		s.line("")
	}
	s.line(s.Paint(Faint, " q quits"))
	return strings.Join(s.lines, "\n")
}

// A screen is an unfinished drawing.
type screen struct {
	width, height int
	now           time.Time
	Painter
	lines []string
}

func (s *screen) line(text string) { s.lines = append(s.lines, strings.TrimRight(text, " ")) }

// room returns the number of free lines above the footer.
func (s *screen) room() int { return s.height - 1 - len(s.lines) }

func (s *screen) header(v Live) {
	name, facts := " magicctx", ""
	if st := v.Status; st != nil {
		name += " " + format.Clean(st.Version)
		facts = strings.Join([]string{
			format.Count(len(st.Clients), "client"), format.Count(max(st.KnownSessions, len(st.Sessions)), "session"), format.Bytes(st.StoreBytes) + " stored",
		}, " · ")
	}
	state := ""
	switch st := v.Status; {
	case st == nil:
	case v.Away != "":
		state = " · away"
	default:
		state = " · up " + format.AgeOf(st.StartedAt, s.now) + " · " + format.Bytes(st.MemoryBytes)
	}
	gap := s.width - columns(name) - columns(state) - columns(facts)
	if gap < 2 {
		facts = ""
	}
	s.line(s.Paint(Strong, cut(name, s.width-columns(state))) + state + strings.Repeat(" ", max(0, gap)) + facts)
	if v.Status == nil {
		return
	}
	if v.Away != "" {
		s.line(s.Paint(Alarm, cut(fmt.Sprintf(" The host has been away for %s, trying again (%s). It said last:", format.Age(s.now.Sub(v.AwaySince)), format.Clean(v.Away)), s.width)))
	}
	s.warnings(v.Status.Warnings)
}

func (s *screen) warnings(all []schema.Warning) {
	shown := all
	if len(all) > maxWarningLines {
		shown = all[:maxWarningLines-1]
	}
	for _, w := range shown {
		c := Notice
		if w.Source != "config" {
			c = Alarm
		}
		s.line(s.Paint(c, cut(" ! "+format.Clean(w.Message), s.width)))
	}
	if more := len(all) - len(shown); more > 0 {
		s.line(s.Paint(Notice, fmt.Sprintf(" ! and %d more; all of them: magicctx-host status", more)))
	}
}
