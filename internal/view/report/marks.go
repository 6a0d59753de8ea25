package report

import (
	"fmt"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/replay"
)

func (p *printer) marks(bills []replay.MarksBill) {
	if len(bills) == 0 {
		return
	}
	fmt.Fprintf(p.w, "\n%-8s %5s %5s %6s %9s %9s %9s %10s\n", "spending", "high", "low", "busts", "read", "written", "bill", "read again")
	for _, m := range bills {
		line := fmt.Sprintf("%-8s %4.0f%% %5s %6d %9s %9s %9s %10s", m.Spending, m.High, m.LowText(), m.Busts, format.Tokens(m.Tokens.Read), format.Tokens(m.Tokens.Written+m.Tokens.Fresh), format.Money(m.Bill), format.Tokens(m.Reread))
		if m.Chosen {
			line += "  chosen"
		}
		if m.MissedRuns > 0 {
			line += "  " + format.Count(m.MissedRuns, "answer") + " missing"
		}
		fmt.Fprintln(p.w, line)
	}
	fmt.Fprintln(p.w)
}
