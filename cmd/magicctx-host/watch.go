package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/magicctx/magicctx-host/internal/view"
)

// watch shows the host on the terminal out until ctx ends or the person at in quits. It restores the
// terminal afterwards. in may be nil.
func watch(ctx context.Context, f follower, in, out *os.File) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	restore, err := prepareTerminal(in, out)
	if err != nil {
		return fmt.Errorf("prepare the terminal: %w", err)
	}
	defer func() {
		if restoreErr := restore(); err == nil {
			err = restoreErr
		}
	}()
	if in != nil && isTerminal(in) {
		go quitOnKey(in, stop) // this goroutine ends with the process, because reading a terminal cannot be cancelled
	}
	heard := make(chan news)
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		f.follow(ctx, func(n news) {
			select {
			case heard <- n:
			case <-ctx.Done():
			}
		})
	}()
	defer func() { <-followed }()
	defer stop()
	return draw(ctx, out, heard)
}

// draw redraws on news, after a resize, and each second.
func draw(ctx context.Context, out *os.File, heard <-chan news) error {
	v := view.Live{Away: "looking for the host", Color: os.Getenv("NO_COLOR") == ""}
	resized, unnotify := notifyResize()
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
			v = v.Heard(n.status, n.away, time.Now())
		case <-resized:
		case <-tick.C:
		}
	}
}

// prepareTerminal switches to the alternate screen and to raw mode. In raw mode typed characters do not
// disturb the view, and ctrl-c arrives as a key.
func prepareTerminal(in, out *os.File) (restore func() error, err error) {
	undoANSI, err := enableANSI(out)
	if err != nil {
		return nil, err
	}
	var before *term.State
	if in != nil && isTerminal(in) {
		if before, err = term.MakeRaw(int(in.Fd())); err != nil {
			return nil, err
		}
	}
	if _, err := out.WriteString(view.EnterScreen); err != nil {
		return nil, err
	}
	return func() error {
		_, err := out.WriteString(view.LeaveScreen)
		if before != nil {
			if restoreErr := term.Restore(int(in.Fd()), before); err == nil {
				err = restoreErr
			}
		}
		undoANSI()
		return err
	}, nil
}

const ctrlC, ctrlD = 3, 4

func quitOnKey(in *os.File, stop func()) {
	keys := make([]byte, 16)
	for {
		n, err := in.Read(keys)
		if err != nil {
			return
		}
		for _, key := range keys[:n] {
			if key == 'q' || key == 'Q' || key == ctrlC || key == ctrlD {
				stop()
				return
			}
		}
	}
}
