package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/magicctx/magicctx-host/internal/format"
)

// A progress shows how far a run has come. On a terminal, it overwrites its last line. In a log, it prints a new line
// each time.
type progress struct {
	out      io.Writer
	name     string
	turns    int
	terminal bool
	start    time.Time
}

const logEvery = 10

func newProgress(out io.Writer, v variant, turns int) *progress {
	return &progress{out: out, name: v.name, turns: turns, terminal: isTerminal(out), start: time.Now()}
}

func (p *progress) turn(turn int, t tally) {
	line := fmt.Sprintf("%s: turn %d of %d, %d requests, %d busts, %s, %s", p.name, turn, p.turns,
		t.Requests, len(t.Busts), format.Money(t.bill()), time.Since(p.start).Round(time.Second))
	switch {
	case p.terminal:
		fmt.Fprintf(p.out, "\r\x1b[K%s", line)
	case turn%logEvery == 0 || turn == p.turns:
		fmt.Fprintln(p.out, line)
	}
}

func (p *progress) end() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
