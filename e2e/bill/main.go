package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/magicctx/magicctx-host/e2e/stage"
)

const (
	exitMissed = 1
	exitBroken = 2
)

// timeout bounds the whole program, which takes about five minutes.
const timeout = 30 * time.Minute

// errMissed means that the report lists bounds that magicctx exceeds.
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
	route              string
	turns              int
	json, unbounded    bool
	binding            bool
}

func (o *options) parse(args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("bill", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.repo, "repo", ".", "root of the repository")
	flags.StringVar(&o.only, "only", "", "run only this variant: OpenCode, magicctx or unbounded")
	flags.StringVar(&o.route, "route", byAnthropic.flag, "whose cache and prices: anthropic or openai")
	flags.StringVar(&o.traces, "trace", "", "record magicctx in this directory, for magicctx-host replay")
	flags.IntVar(&o.turns, "turns", 60, "turns of the story; the bounds are made for 60")
	flags.BoolVar(&o.json, "json", false, "print JSON")
	flags.BoolVar(&o.binding, "binding", false, "with a model that binds its thinking to what was before it, of route anthropic")
	flags.BoolVar(&o.unbounded, "unbounded", false, "also run in a window without end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.turns < 1 {
		return fmt.Errorf("-turns is %d, want at least 1", o.turns)
	}
	if o.traces == "" {
		return nil
	}
	var err error
	o.traces, err = filepath.Abs(o.traces)
	return err
}

// variants returns the variants to run, in order.
func (o *options) variants() ([]variant, error) {
	if o.only == "" && !o.unbounded {
		return []variant{withCompaction, withMagicctx}, nil
	}
	all := []variant{withCompaction, withMagicctx, unbounded}
	if o.only == "" {
		return all, nil
	}
	for _, v := range all {
		if strings.EqualFold(v.name, o.only) {
			return []variant{v}, nil
		}
	}
	return nil, fmt.Errorf("-only is %q, want OpenCode, magicctx or unbounded", o.only)
}

// measure runs the variants one after the other and prints the report.
func measure(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	var o options
	if err := o.parse(args, stderr); err != nil {
		return err
	}
	variants, err := o.variants()
	if err != nil {
		return err
	}
	by, err := billedBy(o.route, o.binding)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	dir, err := os.MkdirTemp("", "mcx")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeAll(dir)) }()
	product, err := stage.Build(ctx, o.repo, dir)
	if err != nil {
		return err
	}
	var results []result
	for i, v := range variants {
		show := newProgress(stderr, v, o.turns)
		r := run{
			variant: v, billed: by, product: product, root: filepath.Join(dir, fmt.Sprint(i)), turns: o.turns,
			traces: o.traces, progress: show.turn,
		}
		res, err := r.play(ctx)
		show.end()
		if err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		results = append(results, res)
	}
	rep := newReport(by, results)
	write := rep.writeTable
	if o.json {
		write = rep.writeJSON
	}
	if err := write(stdout); err != nil {
		return err
	}
	if len(rep.Misses) > 0 {
		return errMissed
	}
	return nil
}

// removeAll removes the files of a run. After an interrupt, a grandchild of OpenCode may live an
// instant longer and write another file.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	for range 50 {
		if err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
		err = os.RemoveAll(dir)
	}
	return err
}
