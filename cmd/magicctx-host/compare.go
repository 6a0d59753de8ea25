package main

import (
	"context"
	"fmt"
	"time"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/compare"
	"github.com/magicctx/magicctx-host/cmd/magicctx-host/terminal"
)

type compareCmd struct {
	outputFlags
	Of     []string `arg:"" optional:"" name:"trace|session" help:"Traces, or ids of sessions; by default all recorded sessions since --since."`
	Since  string   `help:"Only traces that were changed since then: 7d, 36h or 2026-11-20." default:"7d" placeholder:"TIME"`
	Prices string   `help:"Compare at other prices: of a model that magicctx knows, or of a JSON file (see replay --prices)." placeholder:"FILE|MODEL"`
	HTML   string   `name:"html" help:"Write one page for a browser to this file, which needs nothing else." type:"path" placeholder:"FILE"`
}

func (cmd *compareCmd) Run(ctx context.Context, s streams) error {
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	o := compare.Options{Dir: dir, Of: cmd.Of}
	if o.Since, err = compare.ParseSince(cmd.Since, time.Now()); err != nil {
		return err
	}
	if o.Prices, err = compare.ReadPrices(ctx, dir, cmd.Prices); err != nil {
		return err
	}
	if terminal.Is(s.err) {
		o.Progress = func(text string) { fmt.Fprint(s.err, "\r\x1b[K"+text) }
	}
	result, err := compare.Run(ctx, o)
	if err != nil {
		return err
	}
	if cmd.HTML != "" {
		if err := compare.WritePage(s.err, result, cmd.HTML); err != nil {
			return err
		}
	}
	if cmd.JSON {
		return printJSON(s.out, result)
	}
	return compare.Print(s.out, result, terminal.WantsColor(s.out))
}
