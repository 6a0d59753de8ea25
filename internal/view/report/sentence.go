package report

import (
	"fmt"
	"strings"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/internal/view"
	"github.com/magicctx/magicctx-host/internal/words"
)

// Sentence sums up a replay, for example "312 requests stayed under 64k tokens; unmodified, the session would
// have needed 286k and been refused at request 70; the bill was $4.14 (of it $0.09 for the historian), which
// saved about $9.80 against dropping nothing until the window is full." It holds no text of the trace.
func Sentence(s replay.Summary) string {
	if s.Passes == 0 {
		return "The trace holds no request to a model."
	}
	return ours(s) + "; " + unmodified(s.Prompts) + "; " + bills(s) + "."
}

func ours(s replay.Summary) string {
	requests, z := format.Count(s.Passes, "request"), s.Prompts
	switch {
	case len(s.Overflows) > 0 && z.Window > 0:
		return fmt.Sprintf("%d of %s exceeded the window of %s tokens", len(s.Overflows), requests, format.Tokens(z.Window))
	case len(s.Overflows) > 0:
		return fmt.Sprintf("%d of %s exceeded the window", len(s.Overflows), requests)
	case z.Window > 0 && z.Largest > z.Window:
		return fmt.Sprintf("%s were accepted, with up to %s tokens in a window of %s", requests, format.Tokens(z.Largest), format.Tokens(z.Window))
	case z.Window > 0 && z.RawRefusedAt > 0:
		return requests + " stayed under " + format.Tokens(z.Window) + " tokens"
	case z.Window > 0:
		return fmt.Sprintf("%s needed at most %s of %s tokens", requests, format.Tokens(z.Largest), format.Tokens(z.Window))
	}
	return fmt.Sprintf("%s needed at most %s tokens", requests, format.Tokens(z.Largest))
}

func unmodified(z replay.Prompts) string {
	if z.RawRefusedAt > 0 {
		return fmt.Sprintf("unmodified, the session would have needed %s and been refused at request %d", format.Tokens(z.RawLargest), z.RawRefusedAt)
	}
	return "unmodified, the session would have needed " + format.Tokens(z.RawLargest)
}

// The function `bills` compares the bills with and without magicctx. If the models have no price, it uses the list
// price of another model. If both amounts look the same when they are written, it says "either way".
func bills(s replay.Summary) string {
	if v, ok := s.Saving(); ok {
		return "the bill was " + format.Money(s.Cost()) + words.OfHistorian(v.Historian) + ", which " + format.Saving(v.Money) + beside(s.Prompts)
	}
	with, without := format.Money(s.Bill), format.Money(s.RawBill)
	if with == without {
		return "the bill was " + with + " either way"
	}
	return "the bill was " + with + " instead of " + without
}

// `beside` names the session with which a saving is compared. If the provider would have refused the unmodified
// session, this is a session in which nothing is dropped until the window is full. If not, it is the unmodified
// session, and `beside` returns "".
func beside(z replay.Prompts) string {
	if z.RawRefusedAt == 0 {
		return ""
	}
	return " against dropping nothing until the window is full"
}

func (p *printer) sentence(s replay.Summary) {
	colour := view.Strong
	if len(s.Overflows) > 0 {
		colour = view.Alarm
	}
	for _, line := range wrap(Sentence(s), columns) {
		fmt.Fprintln(p.w, p.Paint(colour, line))
	}
	fmt.Fprintln(p.w)
}

func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
