package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/observer"
	"github.com/magicctx/magicctx-host/cmd/magicctx-host/terminal"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/internal/view"
)

// watch shows the host on the terminal out until ctx ends or the person at in quits. It restores the
// terminal afterwards. in may be nil. choice is the view at the start.
func watch(ctx context.Context, f observer.Follower, in, out *os.File, choice view.Choice) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	restore, err := terminal.Prepare(in, out)
	if err != nil {
		return fmt.Errorf("prepare the terminal: %w", err)
	}
	defer func() {
		if restoreErr := restore(); err == nil {
			err = restoreErr
		}
	}()
	pressed := make(chan rune)
	if in != nil && terminal.Is(in) {
		go terminal.ReadKeys(ctx, in, pressed, stop) // this goroutine ends with the process, because reading a terminal cannot be cancelled
	}
	heard := make(chan observer.News)
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		f.Follow(ctx, func(n observer.News) {
			select {
			case heard <- n:
			case <-ctx.Done():
			}
		})
	}()
	defer func() { <-followed }()
	defer stop()
	return draw(ctx, out, heard, pressed, choice)
}

// draw redraws on news, on keys, after a resize, and each second.
func draw(ctx context.Context, out *os.File, heard <-chan observer.News, pressed <-chan rune, choice view.Choice) error {
	v := view.Live{Away: "looking for the host", Color: os.Getenv("NO_COLOR") == "", Program: program.Name(), Choice: choice}
	resized, unnotify := terminal.Resized()
	defer unnotify()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		width, height, err := term.GetSize(int(out.Fd()))
		if err != nil || width == 0 || height == 0 {
			width, height = 80, 24
		}
		if _, err := out.WriteString(view.Frame(view.Screen(v, width, height, time.Now()))); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case n := <-heard:
			v = v.Heard(n.Status, n.Away, time.Now())
		case key := <-pressed:
			var quits bool
			if v.Choice, quits = v.Choice.Pressed(key, v.Choice.Matching(v.Status)); quits {
				return nil
			}
		case <-resized:
		case <-tick.C:
		}
	}
}

// printChanges prints the status as one line of JSON after each change of a session.
func printChanges(ctx context.Context, f observer.Follower, w io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var failed error
	f.Follow(ctx, func(n observer.News) {
		if !n.Changed {
			return
		}
		line, err := json.Marshal(n.Status)
		if err == nil {
			_, err = fmt.Fprintf(w, "%s\n", format.CleanJSON(line))
		}
		if err != nil { // the reader of the pipe has ended, for example in `| head`
			failed = err
			stop()
		}
	})
	return failed
}
