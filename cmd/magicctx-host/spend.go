package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/terminal"
	"github.com/magicctx/magicctx-host/internal/view"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/work"
)

// spendCmd reads the database itself, so it needs no host.
type spendCmd struct {
	outputFlags
	Days uint16 `help:"Only this many days, with today as the last." default:"7" placeholder:"N"`
}

func (cmd *spendCmd) Validate() error {
	if cmd.Days < 1 {
		return fmt.Errorf("--days is %d; it is at least 1, for today", cmd.Days)
	}
	return nil
}

// wide is more columns than any line has.
const wide = 1 << 16

// Run shows the cost of the hidden agents.
func (cmd *spendCmd) Run(ctx context.Context, s streams) error {
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	year, month, day := time.Now().Date()
	since := time.Date(year, month, day+1-int(cmd.Days), 0, 0, 0, 0, time.Local)
	calls, runs, err := work.View(ctx, dir, since.UnixMilli())
	if err != nil && !errors.Is(err, store.ErrMissing) {
		return err
	}
	spent := view.SpendOf(calls, runs, time.Local)
	if cmd.JSON {
		return printJSON(s.out, spent)
	}
	page := pageOf(s)
	if !terminal.Is(s.out) {
		page.Width = wide // in a file or a pipe, lines are not broken, so that commands in them can be copied
	}
	return view.PrintSpend(s.out, spent, since, page)
}
