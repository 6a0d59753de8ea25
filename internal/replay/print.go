package replay

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/magicctx/magicctx-host/internal/printable"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/schema"
)

// PrintOptions control how a summary is printed for people.
type PrintOptions struct {
	// All prints each pass. Without it, a series of uneventful passes is one line.
	All bool
	// Color highlights the figures that deserve a look.
	Color bool
}

// Print prints a summary for people, at most 80 columns wide.
func Print(w io.Writer, s Summary, o PrintOptions) error {
	p := &printer{w: bufio.NewWriter(w), color: o.Color}
	p.timeline(s, o.All)
	p.totals(s)
	p.marks(s.Marks)
	p.findings(s)
	return p.w.Flush()
}

type printer struct {
	w     *bufio.Writer
	color bool
}

const (
	red    = "31"
	yellow = "33"
	green  = "32"
	faint  = "2"
)

func (p *printer) paint(code, text string) string {
	if !p.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p *printer) timeline(s Summary, all bool) {
	fmt.Fprintf(p.w, "%s\n", p.paint(faint, fmt.Sprintf("%5s %-7s %-20s %8s %8s %8s %8s %7s", "pass", "verdict", "cause", "kept", "read", "written", "fresh", "host ms")))
	for i := 0; i < len(s.Detail); {
		j := i
		for !all && j < len(s.Detail) && isUneventful(s.Detail, j) {
			j++
		}
		if j-i > 1 {
			p.run(s.Detail[i:j])
			i = j
			continue
		}
		p.pass(s.Detail[i])
		i++
	}
	fmt.Fprintln(p.w)
}

// isUneventful reports whether a pass needs no line of its own. Of several passes in a row that wait,
// only the first one gets a line.
func isUneventful(all []*Pass, i int) bool {
	p := all[i]
	return p.Verdict == schema.Steady && !p.Bust && (!p.waits() || i > 0 && all[i-1].waits())
}

func (p *printer) pass(q *Pass) {
	cause := q.Cause
	if q.Bust && q.BustCause != q.Cause {
		cause = q.BustCause
	}
	line := fmt.Sprintf("%5d %-7s %-20s %8s %8s %8s %8s %7.2f", q.Pass, q.Verdict, cause,
		count(q.PrefixTokens), count(q.Tokens.Read), count(q.Tokens.Write), count(q.Tokens.Fresh), q.HostMS)
	switch {
	case q.Bust && q.BustCause == "unexplained":
		line = p.paint(red, line)
	case q.Bust:
		line = p.paint(yellow, line)
	}
	fmt.Fprintln(p.w, line)
	for _, note := range []string{priceNote(q), lostNote(q.LostBlocks, q.LostTokens)} {
		if note != "" {
			fmt.Fprintln(p.w, p.paint(faint, noteIndent+note))
		}
	}
}

// noteIndent aligns a note with the verdict of its pass.
const noteIndent = "      "

// run prints several uneventful passes as one line.
func (p *printer) run(passes []*Pass) {
	var sum Tokens
	slowest := 0.0
	for _, q := range passes {
		sum = sum.plus(q.Tokens)
		slowest = max(slowest, q.HostMS)
	}
	span := fmt.Sprintf("%d-%d", passes[0].Pass, passes[len(passes)-1].Pass)
	fmt.Fprintln(p.w, p.paint(faint, fmt.Sprintf("%5s %-7s %-14s %8s %8s %8s %8s %7.2f", span, "steady", strconv.Itoa(len(passes))+" passes", "all",
		count(sum.Read), count(sum.Written), count(sum.Fresh), slowest)))
}

func (p *printer) totals(s Summary) {
	fmt.Fprintf(p.w, "%-14s %12s %12s\n", "", "magicctx", "unmodified")
	row := func(name, ours, plain string) { fmt.Fprintf(p.w, "%-14s %12s %12s\n", name, ours, plain) }
	row("read", count(s.Tokens.Read), count(s.RawTokens.Read))
	row("written", count(s.Tokens.Written), count(s.RawTokens.Written))
	row("fresh", count(s.Tokens.Fresh), count(s.RawTokens.Fresh))
	row("from cache", share(s.Tokens), share(s.RawTokens))
	row("bill", money(s.Bill), money(s.RawBill))
	for _, name := range s.Routes {
		if r := route.Named(name); name == r.Name {
			fmt.Fprintf(p.w, "cache by the rules of %s: an unused prefix lives for %s\n", name, route.Span(r.Life))
		}
	}
	fmt.Fprintf(p.w, "\n%d passes over %d messages, %d busts; host p50 %.2f ms, p95 %.2f ms, max %.2f ms\n",
		s.Passes, s.Messages, len(s.Busts), s.HostMS.P50, s.HostMS.P95, s.HostMS.Max)
	if note := lostNote(s.LostBlocks, s.LostTokens); note != "" {
		fmt.Fprintln(p.w, "together, the busts "+note)
	}
}

// lostNote returns the thinking that busts have cost, "" if there is none.
func lostNote(blocks, tokens int) string {
	if blocks == 0 {
		return ""
	}
	noun := "blocks"
	if blocks == 1 {
		noun = "block"
	}
	return fmt.Sprintf("cost %d %s of thinking, about %s tokens", blocks, noun, count(tokens))
}

func (p *printer) findings(s Summary) {
	verdict := fmt.Sprintf("%d unexplained busts, %d broken invariants, %d validator hits", s.UnexplainedBusts, len(s.InvariantViolations), len(s.ValidatorHits))
	if s.IsClean() {
		fmt.Fprintln(p.w, p.paint(green, verdict))
		return
	}
	fmt.Fprintln(p.w, p.paint(red, verdict))
	for _, f := range s.InvariantViolations {
		fmt.Fprintf(p.w, "  pass %d breaks: %s\n", f.Pass, printable.Line(f.Rule))
	}
	for _, f := range s.ValidatorHits {
		fmt.Fprintf(p.w, "  pass %d: the provider would refuse message %s (%s)\n", f.Pass, printable.Line(f.Detail), printable.Line(f.Rule))
	}
}

// count formats tokens so that the columns line up and stay readable.
func count(n int) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return strconv.Itoa(n)
}

func share(t Tokens) string {
	all := t.Fresh + t.Written + t.Read
	if all == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(t.Read)/float64(all))
}

func money(x float64) string { return fmt.Sprintf("%.4f", x) }
