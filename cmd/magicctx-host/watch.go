package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/internal/view"
)

// watch shows the host on the terminal out until ctx ends or the person at in quits. It restores the
// terminal afterwards. in may be nil. choice is the view at the start.
func watch(ctx context.Context, f follower, in, out *os.File, choice view.Choice) (err error) {
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
	pressed := make(chan rune)
	if in != nil && isTerminal(in) {
		go readKeys(ctx, in, pressed, stop) // this goroutine ends with the process, because reading a terminal cannot be cancelled
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
	return draw(ctx, out, heard, pressed, choice)
}

// draw redraws on news, on keys, after a resize, and each second.
func draw(ctx context.Context, out *os.File, heard <-chan news, pressed <-chan rune, choice view.Choice) error {
	v := view.Live{Away: "looking for the host", Color: os.Getenv("NO_COLOR") == "", Program: program.Name(), Choice: choice}
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

// readKeys sends the keys of a terminal until the program ends.
func readKeys(ctx context.Context, in *os.File, pressed chan<- rune, stop func()) {
	read := make([]byte, 64)
	for {
		n, err := in.Read(read)
		if err != nil {
			return
		}
		for _, key := range keysOf(string(read[:n])) {
			if key == ctrlC || key == ctrlD {
				stop()
				return
			}
			select {
			case pressed <- key:
			case <-ctx.Done():
				return
			}
		}
	}
}

// sequences are the bytes that terminals send for keys without a character (xterm and VT220).
var sequences = []struct {
	bytes string
	key   rune
}{
	{"\x1b[A", view.KeyUp},
	{"\x1bOA", view.KeyUp},
	{"\x1b[B", view.KeyDown},
	{"\x1bOB", view.KeyDown},
	{"\x1b[5~", view.KeyPageUp},
	{"\x1b[6~", view.KeyPageDown},
	{"\x1b[H", view.KeyHome},
	{"\x1b[1~", view.KeyHome},
	{"\x1b[F", view.KeyEnd},
	{"\x1b[4~", view.KeyEnd},
	{"\x1b", view.KeyEscape},
	{"\r", view.KeyEnter},
	{"\n", view.KeyEnter},
	{"\x7f", view.KeyBackspace},
	{"\b", view.KeyBackspace},
}

// keysOf returns the keys in the bytes that a terminal has sent. A terminal sends all bytes of a key
// together.
func keysOf(sent string) (keys []rune) {
next:
	for sent != "" {
		for _, s := range sequences {
			if rest, ok := strings.CutPrefix(sent, s.bytes); ok {
				keys, sent = append(keys, s.key), rest
				continue next
			}
		}
		r, size := utf8.DecodeRuneInString(sent)
		keys, sent = append(keys, r), sent[size:]
	}
	return keys
}
