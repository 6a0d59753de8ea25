package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/replay"
)

type replayCmd struct {
	Trace string `arg:"" help:"Trace to replay, as recorded with MAGICCTX_TRACE; may be compressed with gzip." type:"existingfile"`
	JSON  bool   `help:"Print JSON."`
	All   bool   `help:"Show every pass, not only the ones where something happened."`
	HTML  string `name:"html" help:"Write one page for a browser to this file, which needs nothing else." type:"path" placeholder:"FILE"`
}

// errFindings ends a replay that found something that must not be.
var errFindings = errors.New("the replay found what must not be, see above")

// Run replays a recorded session against a fresh store and reports.
func (cmd *replayCmd) Run(ctx context.Context, c *cli, s streams) error {
	f, err := os.Open(cmd.Trace)
	if err != nil {
		return err
	}
	defer f.Close()
	o := replay.Options{Log: slog.New(slog.DiscardHandler)}
	if c.LogLevel < slog.LevelInfo {
		o.Log = newLogger(s.err, c.LogLevel)
	}
	if isTerminal(s.err) {
		o.Progress = func(done, all int) {
			fmt.Fprintf(s.err, "\rreplaying %d of %d", done, all)
			if done == all {
				fmt.Fprint(s.err, "\r\x1b[K")
			}
		}
	}
	report, err := replay.Run(ctx, f, o)
	if err != nil {
		return fmt.Errorf("replay %s: %w", cmd.Trace, err)
	}
	summary := report.Summary()
	if cmd.HTML != "" {
		if err := cmd.writePage(summary); err != nil {
			return err
		}
	}
	if err := cmd.print(s.out, summary); err != nil {
		return err
	}
	if !summary.IsClean() {
		return errFindings
	}
	return nil
}

func (cmd *replayCmd) writePage(s replay.Summary) error {
	var page bytes.Buffer
	if err := replay.WritePage(&page, s, replay.PageOptions{Trace: filepath.Base(cmd.Trace)}); err != nil {
		return err
	}
	return os.WriteFile(cmd.HTML, page.Bytes(), 0o600) // names and paths in it are the user's
}

func (cmd *replayCmd) print(w io.Writer, s replay.Summary) error {
	if cmd.JSON {
		content, err := json.MarshalIndent(s)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s\n", content)
		return err
	}
	return replay.Print(w, s, replay.PrintOptions{All: cmd.All, Color: isTerminal(w) && os.Getenv("NO_COLOR") == ""})
}
