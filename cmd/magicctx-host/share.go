package main

import (
	"context"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/compare"
)

type shareCmd struct {
	dataDirFlag
	Of        string `arg:"" name:"session|trace" help:"Id of a recorded session, or a trace."`
	Output    string `short:"o" required:"" help:"File to write. It holds sizes, busts and bills, and loads nothing." type:"path" placeholder:"FILE"`
	WithTexts bool   `help:"Keep names, paths and texts. Credentials are removed all the same."`
}

func (cmd *shareCmd) Run(ctx context.Context, s streams) error {
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	return compare.Share(ctx, s.err, dir, cmd.Of, cmd.Output, cmd.WithTexts)
}
