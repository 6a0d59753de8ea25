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
	fmt.Fprintf(p.w, "%s\n", p.Paint(view.Faint, fmt.Sprintf("%5s %-7s %-20s %8s %8s %8s %8s %7s", "pass", "verdict", "cause", "kept", "read", "written", "fresh", "host ms")))
	overflows := make(map[int]replay.Overflow)
	for _, o := range s.Overflows {
		overflows[o.Pass] = o
	}
	isOver := func(i int) bool { return overflows[s.Detail[i].Pass].Pass != 0 }
	for i := 0; i < len(s.Detail); {
		j := i
		for !all && j < len(s.Detail) && isUneventful(s.Detail, j) && isOver(j) == isOver(i) {
			j++
		}
		j = max(j, i+1)
		if j-i > 1 {
			p.run(s.Detail[i:j], isOver(i))
		} else {
			p.pass(s.Detail[i], isOver(i))
		}
		if isOver(i) {
			p.overflow(s.Detail[i:j], overflows)
		}
		i = j
	}
	fmt.Fprintln(p.w)
}

// isUneventful reports whether a pass needs no line of its own. Of several passes in a row that wait,
// only the first one gets a line.
func isUneventful(all []*replay.Pass, i int) bool {
	p := all[i]
	return p.Verdict == schema.Steady && !p.Bust && len(HistoryNotes(p)) == 0 && (!p.Waits() || i > 0 && all[i-1].Waits())
}

// overflow prints the largest of several prompts that exceed the window.
func (p *printer) overflow(passes []*replay.Pass, overflows map[int]replay.Overflow) {
	var all []replay.Overflow
	for _, q := range passes {
		all = append(all, overflows[q.Pass])
	}
	fmt.Fprintln(p.w, p.Paint(view.Alarm, noteIndent+"exceeds the window: "+Excesses(all)[0].Size()))
}

func (p *printer) pass(q *replay.Pass, isOver bool) {
	cause := q.Cause
	if q.Bust && q.BustCause != q.Cause {
		cause = q.BustCause
	}
	line := fmt.Sprintf("%5d %-7s %-20s %8s %8s %8s %8s %7.2f", q.Pass, format.Clean(string(q.Verdict)), format.Clean(cause),
		format.Tokens(q.PrefixTokens), format.Tokens(q.Tokens.Read), format.Tokens(q.Tokens.Write), format.Tokens(q.Tokens.Fresh), q.HostMS)
	switch {
	case isOver, q.Bust && q.BustCause == "unexplained":
		line = p.Paint(view.Alarm, line)
	case q.Bust:
		line = p.Paint(view.Notice, line)
	}
	fmt.Fprintln(p.w, line)
	for _, note := range HistoryNotes(q) {
		for _, line := range wrap(note, columns-len(noteIndent)) {
			fmt.Fprintln(p.w, p.Paint(view.Faint, noteIndent+line))
		}
	}
	for _, note := range []string{PriceNote(q), lostNote(q.LostBlocks, q.LostTokens), p.outcomes[q.Pass]} {
		if note != "" {
			fmt.Fprintln(p.w, p.Paint(view.Faint, noteIndent+note))
		}
	}
}

// noteIndent aligns a note with the verdict of its pass.
const noteIndent = "      "

// run prints several uneventful passes as one line.
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
	span := fmt.Sprintf("%d-%d", passes[0].Pass, passes[len(passes)-1].Pass)
	fmt.Fprintln(p.w, p.Paint(colour, fmt.Sprintf("%5s %-7s %-14s %8s %8s %8s %8s %7.2f", span, "steady", strconv.Itoa(len(passes))+" passes", "all",
		format.Tokens(sum.Read), format.Tokens(sum.Written), format.Tokens(sum.Fresh), slowest)))
}
