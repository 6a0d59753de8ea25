package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/magicctx/magicctx-host/e2e/opencode2"
	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/schema"
)

const (
	exitMissed = 1
	exitBroken = 2
)

// The program takes about forty minutes.
const timeout = 3 * time.Hour

var errMissed = errors.New("magicctx misses its bounds, see above")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := measure(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return
	case ctx.Err() != nil:
		err = errors.New("interrupted")
	}
	fmt.Fprintln(os.Stderr, "bill:", err)
	stop()
	if errors.Is(err, errMissed) {
		os.Exit(exitMissed)
	}
	os.Exit(exitBroken)
}

type options struct {
	repo, only, traces string
	trace              string // the trace to play again
	window             int    // the window for -again; 0 means the recorded window
	route, scene       string
	harness            schema.Harness
	source             string // the directory with the source of OpenCode 2
	spending           schema.Spending
	reads              []float64
	turns              int
	json, recall       bool
	alone, unbounded   bool // whether to run two more variants: without the historian, and with an unlimited window
	binding            bool
	// `played` contains the results of finished runs without magicctx. Such a run sends the same tokens at every price of
	// cached tokens, so it is played only once for all prices.
	played map[string]result
}

func (o *options) parse(args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("bill", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.repo, "repo", ".", "root of the repository")
	flags.StringVar(&o.only, "only", "", "run only this variant: OpenCode, magicctx, without historian or unbounded")
	flags.StringVar((*string)(&o.harness), "harness", string(schema.HarnessOpenCode), "opencode or opencode2")
	flags.StringVar(&o.scene, "scene", "", "run only this scene: 64k, 200k, 1m or 1m-drops")
	flags.StringVar((*string)(&o.spending), "spending", "", "magicctx's setting of the dial: frugal, balanced (the default) or generous; with -again, all of them are the default")
	flags.StringVar(&o.trace, "again", "", "play this trace of an earlier run through the host, without OpenCode")
	reads := flags.String("reads", fmt.Sprint(usualReads), "prices of reading from the cache, as shares of the input price, for example 0.1,0.05,0.025")
	flags.IntVar(&o.window, "window", 0, "with -again, play the trace in a window of so many tokens")
	flags.StringVar(&o.route, "route", byAnthropic.flag, "whose cache and prices: anthropic or openai")
	flags.StringVar(&o.traces, "trace", "", "record magicctx in this directory, for magicctx-host replay")
	flags.IntVar(&o.turns, "turns", 0, "turns of the story; 0 stands for those of the scene, for which the bounds are made")
	flags.BoolVar(&o.json, "json", false, "print JSON")
	flags.BoolVar(&o.binding, "binding", false, "with a model that binds its thinking to what was before it, of route anthropic")
	flags.BoolVar(&o.recall, "recall", false, "print where the needles of the story are, instead of the bill")
	flags.BoolVar(&o.alone, "without-historian", false, "also run magicctx without a historian")
	flags.BoolVar(&o.unbounded, "unbounded", false, "also run in a window without end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.turns < 0 {
		return fmt.Errorf("-turns is %d, want at least 1", o.turns)
	}
	if o.spending != "" && !slices.Contains(schema.Spendings, o.spending) {
		return fmt.Errorf("-spending is %q, want frugal, balanced or generous", o.spending)
	}
	o.source = os.Getenv(opencode2.Variable)
	switch o.harness {
	case schema.HarnessOpenCode:
	case schema.HarnessOpenCode2:
		if o.source == "" || o.route != byAnthropic.flag || o.binding {
			return fmt.Errorf("-harness opencode2 is played with route anthropic and without -binding, and %s must name the source of OpenCode 2", opencode2.Variable)
		}
	default:
		return fmt.Errorf("-harness is %q, want opencode or opencode2", o.harness)
	}
	for text := range strings.SplitSeq(*reads, ",") {
		share, err := strconv.ParseFloat(text, 64)
		if err != nil || share <= 0 || share > 1 {
			return fmt.Errorf("-reads has %q, want a share of the input price from 0 to 1", text)
		}
		o.reads = append(o.reads, share)
	}
	if o.traces == "" {
		return nil
	}
	var err error
	o.traces, err = filepath.Abs(o.traces)
	return err
}

func (o *options) variants() (chosen []variant, err error) {
	for _, v := range variants {
		switch {
		case o.only == "" && (!v.unbounded || o.unbounded) && (v != withoutHistorian || o.alone), strings.EqualFold(v.name, o.only):
			chosen = append(chosen, v)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("-only is %q, want OpenCode, magicctx, without historian or unbounded", o.only)
	}
	return chosen, nil
}

func measure(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o := options{played: map[string]result{}}
	if err := o.parse(args, stderr); err != nil {
		return err
	}
	if o.trace != "" {
		return o.again(ctx, stdout, stderr)
	}
	o.spending = cmp.Or(o.spending, schema.SpendingBalanced)
	chosen, err := scenesNamed(o.scene)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	dir, err := makeRoot()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.RemoveAll(dir)) }()
	product, err := stage.Build(ctx, o.repo, dir)
	if err != nil {
		return err
	}
	var all reports
	for _, s := range chosen {
		for _, reads := range o.reads {
			rep, err := o.play(ctx, product, s, reads, dir, stderr)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			all = append(all, rep)
		}
	}
	write := all.writeTables
	switch {
	case o.json:
		write = all.writeJSON
	case o.recall:
		write = all.writeRecalls
	}
	if err := write(stdout); err != nil {
		return err
	}
	if all.miss() {
		return errMissed
	}
	return nil
}

func (o *options) play(ctx context.Context, product stage.Product, s scene, reads float64, dir string, stderr io.Writer) (rep report, err error) {
	chosen, err := o.variants()
	if err != nil {
		return rep, err
	}
	by, err := billedBy(o.route, o.binding)
	if err != nil {
		return rep, err
	}
	by = by.reading(reads)
	if o.harness == schema.HarnessOpenCode2 {
		s = s.ofVersion2()
	}
	s.turns = cmp.Or(o.turns, s.turns)
	var results []result
	for i, v := range chosen {
		key := v.name + fmt.Sprint(s.alone())
		if res, ok := o.played[key]; ok && !v.plugin {
			res.prices = by.prices
			results = append(results, res)
			continue
		}
		show := newProgress(stderr, v, s.turns)
		r := run{
			variant: v, scene: s, billed: by, spending: o.spending, harness: o.harness, source: o.source, product: product, root: filepath.Join(dir, fmt.Sprint(s.name, "-", reads, "-", i)),
			traces: o.traces, probes: o.recall, progress: show.turn,
		}
		res, err := r.play(ctx)
		show.end()
		if err != nil {
			return rep, fmt.Errorf("%s: %w", v.name, err)
		}
		o.played[key] = res
		results = append(results, res)
	}
	return newReport(s, by, o.spending, results), nil
}

// Prompts contain the path of this directory, and the path's length changes their tokens. So makeRoot returns the same
// path each time, unless another instance of this program is running.
func makeRoot() (dir string, err error) {
	for i := range 10 {
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("mcx%d", i))
		if err = os.Mkdir(dir, 0o700); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("make a directory for the runs: %w; remove those that earlier runs have left", err)
}
