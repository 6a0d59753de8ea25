package report

import (
	"fmt"
	"strconv"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/internal/view"
	"github.com/magicctx/magicctx-host/schema"
)

func (p *printer) timeline(s replay.Summary, all bool) {
	overflows := make(map[int]replay.Overflow)
	for _, o := range s.Overflows {
		overflows[o.Pass] = o
	}
	isOver := func(q *replay.Pass) bool { return overflows[q.Pass].Pass != 0 }
	rows := rowsOf(s.Detail, all, isOver)
	p.layout(rows)
	fmt.Fprintln(p.w, p.Paint(view.Faint, p.row("request", "cache", "cause", "kept", "read", "written", "fresh", "host ms")))
	for _, row := range rows {
		over := isOver(row[0])
		if len(row) > 1 {
			p.run(row, over)
		} else {
			p.pass(row[0], over)
		}
		if over {
			p.overflow(row, overflows)
		}
	}
	fmt.Fprintln(p.w)
}

func rowsOf(passes []*replay.Pass, all bool, isOver func(*replay.Pass) bool) (rows [][]*replay.Pass) {
	for i := 0; i < len(passes); {
		j := i
		for !all && j < len(passes) && isUneventful(passes, j) && isOver(passes[j]) == isOver(passes[i]) {
			j++
		}
		j = max(j, i+1)
		rows = append(rows, passes[i:j])
		i = j
	}
	return rows
}

// layout chooses the widths of the columns. If a span of passes needs more room, the column of causes gets less.
func (p *printer) layout(rows [][]*replay.Pass) {
	const least, mostCause, both = 7, 20, 27
	p.spanWidth = least
	for _, row := range rows {
		p.spanWidth = max(p.spanWidth, len(span(row)))
	}
	p.causeWidth = min(mostCause, both-p.spanWidth)
}

func (p *printer) row(span, cache, cause, kept, read, written, fresh, ms string) string {
	return fmt.Sprintf("%*s %-7s %-*s %8s %8s %8s %8s %7s", p.spanWidth, span, cache, p.causeWidth, cause, kept, read, written, fresh, ms)
}

// span names the passes of a row, for example "7" or "121-151".
func span(row []*replay.Pass) string {
	first, last := row[0].Pass, row[len(row)-1].Pass
	if first == last {
		return strconv.Itoa(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}

func milliseconds(ms float64) string { return strconv.FormatFloat(ms, 'f', 2, 64) }

// An uneventful pass gets no separate line. If several passes wait in a row, only the first one gets a line.
func isUneventful(all []*replay.Pass, i int) bool {
	p := all[i]
	return p.Verdict == schema.Steady && !p.Bust && len(HistoryNotes(p)) == 0 && (!p.Waits() || i > 0 && all[i-1].Waits())
}

func (p *printer) overflow(passes []*replay.Pass, overflows map[int]replay.Overflow) {
	var all []replay.Overflow
	for _, q := range passes {
		all = append(all, overflows[q.Pass])
	}
	fmt.Fprintln(p.w, p.Paint(view.Alarm, noteIndent+"exceeds the window: "+Excesses(all)[0].Size()))
}

func (p *printer) pass(q *replay.Pass, isOver bool) {
	line := p.row(span([]*replay.Pass{q}), CacheOf(q), CauseOf(q),
		format.Tokens(q.PrefixTokens), format.Tokens(q.Tokens.Read), format.Tokens(q.Tokens.Write), format.Tokens(q.Tokens.Fresh), milliseconds(q.HostMS))
	switch {
	case isOver, q.Bust && q.BustCause == "unexplained":
		line = p.Paint(view.Alarm, line)
	case q.Bust:
		line = p.Paint(view.Notice, line)
	}
	fmt.Fprintln(p.w, line)
	for _, note := range append(HistoryNotes(q), PriceNote(q)) {
		if note == "" {
			continue
		}
		for _, line := range wrap(note, columns-len(noteIndent)) {
			fmt.Fprintln(p.w, p.Paint(view.Faint, noteIndent+line))
		}
	}
	for _, note := range []string{lostNote(q.LostBlocks, q.LostTokens), p.outcomes[q.Pass]} {
		if note != "" {
			fmt.Fprintln(p.w, p.Paint(view.Faint, noteIndent+note))
		}
	}
}

const noteIndent = "      "

func (p *printer) run(passes []*replay.Pass, isOver bool) {
	colour := view.Faint
	if isOver {
		colour = view.Alarm
	}
	var sum replay.Tokens
	slowest := 0.0
	for _, q := range passes {
		sum = sum.Plus(q.Tokens)
		slowest = max(slowest, q.HostMS)
	}
	fmt.Fprintln(p.w, p.Paint(colour, p.row(span(passes), "kept", format.Count(len(passes), "request"), "all",
		format.Tokens(sum.Read), format.Tokens(sum.Written), format.Tokens(sum.Fresh), milliseconds(slowest))))
}
