package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/internal/view"
	"github.com/magicctx/magicctx-host/internal/words"
)

type Options struct {
	// If All is false, a series of uneventful passes takes only one line.
	All   bool
	Color bool
}

const columns = 80

// Print prints a summary for people, at most 80 columns wide.
func Print(w io.Writer, s replay.Summary, o Options) error {
	p := &printer{Painter: view.Painter(o.Color), w: bufio.NewWriter(w), outcomes: make(map[int]string)}
	for _, b := range s.Busts {
		if note := OutcomeNote(b.Outcome); note != "" {
			p.outcomes[b.Pass] = "in the end: " + note
		}
	}
	p.missing(s.Missing)
	if sessions := s.Sessions(); len(sessions) > 1 {
		for _, one := range sessions {
			p.heading("Session " + format.Clean(one.Detail[0].Session))
			p.session(one, o.All)
			fmt.Fprintln(p.w)
		}
		p.heading(fmt.Sprintf("All %d sessions", len(sessions)))
		p.totals(s)
	} else {
		p.session(s, o.All)
	}
	p.marks(s.Marks)
	p.findings(s)
	return p.w.Flush()
}

func (p *printer) heading(title string) {
	fmt.Fprintln(p.w, p.Paint(view.Strong, title))
	fmt.Fprintln(p.w)
}

func (p *printer) session(s replay.Summary, all bool) {
	p.sentence(s)
	p.timeline(s, all)
	p.totals(s)
	p.sections(s.Detail)
	p.history(s)
}

type printer struct {
	view.Painter
	w                     *bufio.Writer
	outcomes              map[int]string
	spanWidth, causeWidth int
}

// The method `missing` prints which facts the trace does not contain. The report begins with them, because without
// these facts all later figures are less reliable.
func (p *printer) missing(all []string) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(p.w, p.Paint(view.Alarm, "The trace is incomplete, so the replay may differ from the session. It lacks:"))
	for _, what := range all {
		for i, line := range wrap(format.Clean(what), columns-2) {
			fmt.Fprintf(p.w, "%s %s\n", []string{"-", " "}[min(i, 1)], line)
		}
	}
	fmt.Fprintln(p.w)
}

func (p *printer) totals(s replay.Summary) {
	fmt.Fprintf(p.w, "%-14s %12s %12s\n", "", "magicctx", "unmodified")
	row := func(name, ours, plain string) { fmt.Fprintf(p.w, "%-14s %12s %12s\n", name, ours, plain) }
	row("read", format.Tokens(s.Tokens.Read), format.Tokens(s.RawTokens.Read))
	row("written", format.Tokens(s.Tokens.Written), format.Tokens(s.RawTokens.Written))
	row("fresh", format.Tokens(s.Tokens.Fresh), format.Tokens(s.RawTokens.Fresh))
	row("from cache", ReadShare(s.Tokens), ReadShare(s.RawTokens))
	row("bill", format.Money(s.Cost()), format.Money(s.RawBill))
	if v, ok := s.Saving(); ok {
		if v.Historian > 0 {
			row("- historian", format.Money(v.Historian), "")
		}
		row("saved", format.Dollars(v.Money), "")
		if v.Early > 0 {
			row("- removed early", format.Dollars(v.Early), "")
		}
	}
	for _, name := range s.Routes {
		if r := route.Named(name); name == r.Name {
			fmt.Fprintf(p.w, "cache by the rules of %s: an unused prefix lives for %s\n", name, format.Span(r.Life))
		}
	}
	fmt.Fprintf(p.w, "\n%s over %s, %s; host p50 %.2f ms, p95 %.2f ms, max %.2f ms\n",
		format.Count(s.Passes, "request"), format.Count(s.Messages, "message"), format.Count(len(s.Busts), "bust"), s.HostMS.P50, s.HostMS.P95, s.HostMS.Max)
	if note := lostNote(s.LostBlocks, s.LostTokens); note != "" {
		fmt.Fprintln(p.w, "together, the busts "+note)
	}
	if regret := s.Regret(); len(regret.Removals) > 0 {
		for i, line := range wrap("read again: "+words.Regret(regret.Removals, regret.Cost), columns-2) {
			fmt.Fprintln(p.w, []string{"", "  "}[min(i, 1)]+line)
		}
	}
	lacking := words.NotBilled
	if n := s.Prompts.Unseen; n > 0 {
		lacking += fmt.Sprintf(" (about %s tokens of each prompt)", format.Tokens(n))
	}
	for i, line := range wrap("not counted: "+lacking, columns-2) {
		fmt.Fprintln(p.w, []string{"", "  "}[min(i, 1)]+line)
	}
}

func (p *printer) findings(s replay.Summary) {
	verdict := strings.Join([]string{
		format.Count(s.UnexplainedBusts, "unexplained bust"), format.Count(len(s.InvariantViolations), "broken invariant"),
		format.Count(len(s.ValidatorHits), "validator hit"), format.Count(len(s.Overflows), "overflow"),
	}, ", ")
	if s.IsClean() {
		fmt.Fprintln(p.w, p.Paint(view.Good, verdict))
		return
	}
	fmt.Fprintln(p.w, p.Paint(view.Alarm, verdict))
	for _, f := range s.InvariantViolations {
		fmt.Fprintf(p.w, "  request %d breaks: %s\n", f.Pass, format.Clean(f.Rule))
	}
	for _, f := range s.ValidatorHits {
		fmt.Fprintf(p.w, "  request %d: the provider would refuse message %s (%s)\n", f.Pass, format.Clean(f.Detail), format.Clean(f.Rule))
	}
	for _, e := range Excesses(s.Overflows) {
		fmt.Fprintln(p.w, p.Paint(view.Alarm, "  "+e.String()))
	}
}
