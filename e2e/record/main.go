package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/magicctx/magicctx-host/e2e/stage"
)

// The long session takes about two minutes.
const timeout = 20 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("record", flag.ContinueOnError)
	repo := flags.String("repo", ".", "root of the repository")
	out := flags.String("out", filepath.Join("testdata", "traces"), "directory of the traces")
	only := flags.String("only", "", "record only this trace: short, long, edge, history, pi-short, pi-long or pi-edge")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	// A trace with a historian contains the path of this directory. So the path must be the same for each recording.
	dir := filepath.Join(os.TempDir(), "mcx-record")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("directory for the recording: %w; if no other recording runs, remove it", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	product, err := stage.Build(ctx, *repo, dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	for _, s := range []session{short, long, edge, history, piShort, piLong, piEdge} {
		if *only != "" && *only != s.name {
			continue
		}
		r := recording{session: s, product: product, root: filepath.Join(dir, s.name)}
		frames, err := r.record(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		path := filepath.Join(*out, s.name+".jsonl.gz")
		size, err := writeTrace(path, r.scrub(frames))
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Printf("%s: %d messages, %d requests, %d kB, %d kB compressed\n", path, r.messages, r.requests, len(frames)>>10, size>>10)
	}
	return nil
}
