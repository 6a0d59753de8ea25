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
	"strings"

	"github.com/alecthomas/kong"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/compare"
	"github.com/magicctx/magicctx-host/cmd/magicctx-host/terminal"
	"github.com/magicctx/magicctx-host/cmd/magicctx-host/traces"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/mode"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/internal/view/page"
	"github.com/magicctx/magicctx-host/internal/view/report"
	"github.com/magicctx/magicctx-host/schema"
)

type replayCmd struct {
	dataDirFlag
	Trace     string            `arg:"" optional:"" help:"Trace to replay, as recorded after magicctx-host trace on; may be compressed with gzip." type:"existingfile"`
	Last      bool              `help:"Replay the newest recorded trace."`
	JSON      bool              `help:"Print JSON."`
	All       bool              `help:"Show every request, not only the ones where something happened."`
	HTML      string            `name:"html" help:"Write one page for a browser to this file, which needs nothing else." type:"path" placeholder:"FILE"`
	Mode      string            `enum:",${modes}" default:"" help:"Replay in another mode: ${listed_modes}." placeholder:"MODE"`
	Profile   string            `enum:",${profiles}" default:"" help:"Replay for a provider of another profile: ${listed_profiles}." placeholder:"NAME"`
	Window    format.TokenCount `help:"Replay with a model whose prompts may have so many tokens, for example 64000 or 64k." placeholder:"TOKENS"`
	Spending  string            `enum:",frugal,balanced,generous" default:"" help:"Replay with another setting of spending: frugal, balanced or generous." placeholder:"SETTING"`
	Threshold format.Percentage `help:"Replay with another execute threshold, from 20 to 80 percent of the window." placeholder:"PERCENT"`
	Prices    string            `help:"Replay at other prices: those of a model that magicctx knows, or a JSON file like {\"provider/model\": {\"fresh\": 3, \"write\": 3.75, \"read\": 0.3, \"output\": 15}}, with \"*\" for every other model." placeholder:"FILE|MODEL"`
	WhatIf    bool              `xor:"sizes" help:"Print, and show on the page of --html, what the session costs at each setting of spending, and at a threshold 15 points lower and higher; replays the trace several times."`
	Marks     bool              `xor:"sizes" help:"Print what the session costs at each setting of spending, and at the water marks and their neighbours, too; replays the trace several times."`
	// AsRecorded and Marks exclude each other: Marks replays the trace with many settings, but the trace has the sizes
	// of the prompts for one setting only.
	AsRecorded bool `xor:"sizes" help:"Take the sizes of prompts from the trace. They are those of the recording, so the replayed prompts may exceed the window."`
	Recount    bool `hidden:"" help:"Does nothing: the default since --as-recorded exists."`
}

func replayVars() kong.Vars {
	profiles := replay.Profiles()
	return kong.Vars{
		"modes": strings.Join(mode.Names(), ","), "listed_modes": oneOf(mode.Names()),
		"profiles": strings.Join(profiles, ","), "listed_profiles": oneOf(profiles),
	}
}

func oneOf(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

var errTruncated = errors.New("the compressed file breaks off, so the replay is one of its beginning only")

var errFindings = errors.New("the replay found what must not be, see above")

func (cmd *replayCmd) Run(ctx context.Context, c *cli, s streams) error {
	if err := cmd.choose(s); err != nil {
		return err
	}
	o, err := cmd.options(ctx, c, s)
	if err != nil {
		return err
	}
	f, err := os.Open(cmd.Trace)
	if err != nil {
		return err
	}
	defer f.Close()
	played, err := replay.Run(ctx, f, o)
	if err != nil {
		return fmt.Errorf("replay %s: %w", cmd.Trace, err)
	}
	summary := played.Summary()
	if cmd.Marks || cmd.WhatIf {
		others := replay.Near
		if cmd.WhatIf {
			others = replay.Grid
		}
		summary.Marks, err = replay.RunMarks(ctx, func() (io.ReadCloser, error) { return os.Open(cmd.Trace) }, summary, o, others)
		if err != nil {
			return fmt.Errorf("replay %s: %w", cmd.Trace, err)
		}
	}
	if cmd.HTML != "" {
		if err := cmd.writePage(s, summary); err != nil {
			return err
		}
	}
	if err := cmd.print(s.out, summary); err != nil {
		return err
	}
	if summary.IsTruncated {
		return fmt.Errorf("%s: %w", cmd.Trace, errTruncated)
	}
	if !summary.IsClean() {
		return errFindings
	}
	return nil
}

func (cmd *replayCmd) choose(s streams) error {
	switch {
	case cmd.Last && cmd.Trace != "":
		return errors.New("name a trace, or --last, not both")
	case !cmd.Last && cmd.Trace == "":
		return errors.New("name the trace to replay, or --last for the newest recorded one")
	case !cmd.Last:
		return nil
	}
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	newest, err := traces.Newest(dir)
	if err != nil {
		return err
	}
	cmd.Trace = newest.Path
	fmt.Fprintf(s.err, "Replaying %s.\n", format.Clean(cmd.Trace))
	return nil
}

func (cmd *replayCmd) options(ctx context.Context, c *cli, s streams) (replay.Options, error) {
	o := replay.Options{
		Log: slog.New(slog.DiscardHandler), Mode: cmd.Mode, Profile: cmd.Profile, Window: int(cmd.Window), AsRecorded: cmd.AsRecorded,
		Marks: replay.Marks{Spending: schema.Spending(cmd.Spending), High: float64(cmd.Threshold)},
	}
	if c.LogLevel < slog.LevelInfo {
		o.Log = terminal.NewLogger(s.err, c.LogLevel)
	}
	if terminal.Is(s.err) {
		o.Progress = func(done, all int) {
			fmt.Fprintf(s.err, "\rreplaying %d of %d", done, all)
			if done == all {
				fmt.Fprint(s.err, "\r\x1b[K")
			}
		}
	}
	dir, err := cmd.resolve()
	if err != nil && cmd.Prices == "" {
		return o, nil // only the price of a known model needs the directory
	}
	if err == nil {
		o.Prices, err = compare.ReadPrices(ctx, dir, cmd.Prices)
	}
	return o, err
}

// The page shows names and paths of the user.
func (cmd *replayCmd) writePage(s streams, summary replay.Summary) error {
	var b bytes.Buffer
	if err := page.Write(&b, summary, page.Options{Trace: filepath.Base(cmd.Trace)}); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return compare.Save(s.err, cmd.HTML, b.Bytes(), "open it in a browser")
}

func (cmd *replayCmd) print(w io.Writer, s replay.Summary) error {
	if cmd.JSON {
		content, err := json.MarshalIndent(s)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s\n", format.CleanJSON(content))
		return err
	}
	return report.Print(w, s, report.Options{All: cmd.All, Color: terminal.WantsColor(w)})
}
