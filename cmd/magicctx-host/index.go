package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/terminal"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/embedding"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/indexing"
	"github.com/magicctx/magicctx-host/internal/project"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/words"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/index"
)

// Several processes may write the index at the same time, so indexCmd works whether a host is running or not.
type indexCmd struct {
	dataDirFlag
	DryRun bool `help:"Show which sessions there are, and write nothing."`
}

func (cmd *indexCmd) Run(ctx context.Context, s streams) error {
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	if cmd.DryRun {
		return printSources(ctx, s.out, func(what string, err error) { printUnread(s, what, err) })
	}
	return indexSessions(ctx, s, dir)
}

var storedSessions = rawhistory.Reader{Env: os.Getenv}

func printUnread(s streams, what string, err error) {
	fmt.Fprintf(s.err, "not read: %s: %s\n", format.Clean(what), format.Clean(err.Error()))
}

// indexSessions reads only the messages that are new since the last time.
func indexSessions(ctx context.Context, s streams, dir string) error {
	unread := 0
	failed := func(what string, err error) {
		unread++
		printUnread(s, what, err)
	}
	db, err := index.Open(ctx, dir)
	if err != nil {
		return err
	}
	defer db.Close()
	x := indexing.Indexer{
		Index: db, Reader: storedSessions, Identify: project.Identify, Known: indexing.KnownIn(dir),
		LoadConfig: func(harness schema.Harness, directory string) schema.Config {
			cfg, _ := config.Load(config.Options{Harness: harness, Directory: directory})
			return cfg
		},
	}
	shown := newProgress(s.out)
	p, err := x.Run(ctx, func(p indexing.Progress) {
		shown.show(fmt.Sprintf("%d of %s, %s", p.Sessions, format.Count(p.Of, "session"), format.Count(p.Messages, "message")))
	}, failed)
	shown.end()
	took := time.Since(shown.started)
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("stopped after %s; the next run goes on from there", format.Count(p.Sessions, "session"))
	}
	if err != nil {
		return err
	}
	size, err := db.SizeOnDisk()
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s, %d of them unchanged: %s read in %.1f s (%s a second).\n", format.Count(p.Sessions, "session"), p.Skipped,
		format.Count(p.Messages, "message"), took.Seconds(), format.Grouped(int(float64(p.Messages)/max(took.Seconds(), 0.001))))
	if unread > 0 {
		fmt.Fprintf(s.out, "%s could not be read; see above.\n", format.Count(unread, "item"))
	}
	fmt.Fprintf(s.out, "The index has %s: %s\n", format.Bytes(size), index.PathIn(dir))
	embedder := embedding.Embedder{Dir: dir, Source: &embedding.Source{Env: os.Getenv}}
	err = embedder.Run(ctx, func(done int) { shown.show(format.Count(done, "vector")) })
	shown.end()
	if st := embedder.Status(ctx); st != nil {
		fmt.Fprintf(s.out, "%s.\n", words.Embedding(st))
	}
	return err
}

func printSources(ctx context.Context, w io.Writer, failed func(string, error)) error {
	sources, err := storedSessions.List(ctx, failed)
	if err == nil {
		_, err = io.WriteString(w, rawhistory.Describe(sources))
	}
	return err
}

type progress struct {
	out     io.Writer
	started time.Time
	drawn   time.Time
	isShown bool
}

func newProgress(out io.Writer) *progress { return &progress{out: out, started: time.Now()} }

func (p *progress) show(text string) {
	if !terminal.Is(p.out) || time.Since(p.drawn) < 100*time.Millisecond {
		return
	}
	p.drawn, p.isShown = time.Now(), true
	fmt.Fprint(p.out, "\r\x1b[K", text)
}

func (p *progress) end() {
	if p.isShown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
