package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/importing"
	"github.com/magicctx/magicctx-host/internal/project"
)

// importCmd needs no host.
type importCmd struct {
	outputFlags
	DryRun   bool   `help:"Say what would be taken, and write nothing."`
	Database string `arg:"" optional:"" type:"path" help:"The plugin's database. By default, context.db in the data directory."`
}

func (cmd *importCmd) Run(ctx context.Context, s streams) error {
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	shown := newProgress(s.out)
	importer := importerTo(dir)
	importer.IsRehearsal = cmd.DryRun
	importer.Progress = func(rows, of int) { shown.show(fmt.Sprintf("%d of %s", rows, format.Count(of, "row"))) }
	report, err := importer.Run(ctx, cmp.Or(cmd.Database, importing.FileIn(dir)))
	shown.end()
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("stopped; the next run goes on from there")
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w; name the file in which the TypeScript plugin keeps its data", err)
	case err != nil:
		return err
	case cmd.JSON:
		return printJSON(s.out, report)
	}
	_, err = io.WriteString(s.out, report.Text())
	return err
}

func importerTo(dir string) importing.Importer {
	return importing.Importer{Dir: dir, Reader: storedSessions, Identify: project.Identify, Clock: clock.System{}}
}
