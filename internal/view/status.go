package view

import (
	"fmt"
	"io"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/words"
	"github.com/magicctx/magicctx-host/schema"
)

const maxRows = 10

// A Page describes the output on which a status is printed.
type Page struct {
	// Width is the maximum number of columns in a line. If it is below 20, lines may have 20 columns.
	Width int
	Color bool
	// If ASCII is true, the output contains only ASCII characters. If Plain is true, it has no bar, so that a screen
	// reader can read it.
	ASCII, Plain bool
	Now          time.Time
	// If NamesHarness is true, a page about a single session names the session's harness. A page about several sessions
	// names their harnesses anyway, unless all of them have the same one.
	NamesHarness bool
	Program      string
}

func (p Page) screen() screen {
	return screen{width: max(p.Width, minWidth), now: p.Now, namesHarness: p.NamesHarness, program: p.Program, Painter: Painter(p.Color), inASCII: p.ASCII, isPlain: p.Plain}
}

func (s *screen) print(w io.Writer) error {
	_, err := fmt.Fprintln(w, s.joined())
	return err
}

// PrintStatus prints the problems, the session that worked last, and a list of all sessions.
func PrintStatus(w io.Writer, st schema.StatusResult, p Page) error {
	s := p.screen()
	s.namesHarness = s.namesHarness || SeveralHarnesses(st.Sessions)
	s.troubles(st)
	s.header(st, false)
	if st.Embedding != nil {
		s.paragraph(Faint, " ", words.Embedding(st.Embedding))
	}
	if len(st.Sessions) == 0 {
		s.noSession()
		return s.print(w)
	}
	s.card(st.Sessions[0])
	s.line("")
	s.listTitles()
	rows := min(len(st.Sessions), maxRows)
	for _, session := range st.Sessions[:rows] {
		s.row(session, false)
	}
	if more := max(st.KnownSessions, len(st.Sessions)) - rows; more > 0 {
		s.line(s.Paint(Faint, fmt.Sprintf(" … %d more", more)))
	}
	return s.print(w)
}

func PrintSession(w io.Writer, st schema.SessionStatus, p Page) error {
	s := p.screen()
	s.card(st)
	s.lines = s.lines[1:] // the card begins with an empty line
	return s.print(w)
}

func PrintDropped(w io.Writer, st schema.SessionStatus, p Page) error {
	s := p.screen()
	s.line(" " + s.Paint(Strong, format.Cut(titleOf(st), s.width-2)))
	s.line(" " + format.Cut("dropped: "+words.Dropped(st), s.width-2))
	if h := st.Head; h != nil && h.Through > 0 {
		s.paragraph(Faint, " ", fmt.Sprintf("%s history show %s lists the summaries, and history expand %[2]s 1-%d prints the messages.", p.Program, endOf(st.Session), h.Through))
	}
	if len(st.DroppedUnits) == 0 {
		return s.print(w)
	}
	const tokens, age, rule, maxPiece = 6, 6, 22, 90
	piece := s.width - 2 - (2 + tokens) - (2 + age)
	showsRule := piece >= 24+2+rule
	if showsRule {
		piece -= 2 + rule
	}
	piece = min(piece, maxPiece)
	s.line("")
	titles := " " + format.Left("PIECE", piece) + "  " + format.Right("TOKENS", tokens) + "  " + format.Right("AGO", age)
	if showsRule {
		titles += "  " + format.Left("RULE", rule)
	}
	s.line(s.Paint(Faint, titles))
	isBare, isUnruled := false, false
	for _, u := range st.DroppedUnits {
		isBare, isUnruled = isBare || u.About == "", isUnruled || u.Rule == ""
		line := " " + format.Left(pieceOf(u), piece) + "  " + format.Right(format.Tokens(u.Tokens), tokens) + "  " + format.Right(format.AgeOf(u.At, s.now), age)
		if showsRule {
			line += "  " + format.Left(ruleOf(u), rule)
		}
		s.line(line)
	}
	s.line("")
	if isBare {
		s.paragraph(Faint, " ", "Files and first words are known only while the host has the session in memory, that is after a request since its start.")
	}
	if isUnruled {
		s.paragraph(Faint, " ", "A piece without a rule was dropped by a host that did not record rules yet.")
	}
	return s.print(w)
}

func pieceOf(u schema.DroppedUnit) string {
	kind := u.Kind
	if u.Tool != "" {
		kind = u.Tool
	}
	text := format.Piece(u.Tag, kind, u.About)
	if u.Partly {
		text += " (result only)"
	}
	return text
}

func ruleOf(u schema.DroppedUnit) string {
	if u.Rule == "" {
		return "-"
	}
	return words.RuleName(u.Rule)
}
