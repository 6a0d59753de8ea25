package pitest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

type Size struct{ Columns, Rows int }

var UsualSize = Size{80, 40}

type Terminal struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	done  chan struct{} // closed when the process has ended and all its output is drawn

	// mu guards screen and raw.
	mu     sync.Mutex
	screen *screen
	raw    strings.Builder
}

// ErrNoTerminal means that this machine has no program that can provide a terminal.
var ErrNoTerminal = errors.New("the program script (util-linux) is not installed")

// StartTerminal starts Pi with its screen on a terminal. Stop ends Pi. If ctx ends, Pi is killed.
func StartTerminal(ctx context.Context, o Options) (*Terminal, error) {
	pi, err := o.command(ctx)
	if err != nil {
		return nil, fmt.Errorf("start pi in a terminal: %w", err)
	}
	return OnTerminal(ctx, pi, UsualSize)
}

// OnTerminal starts a program on a terminal. Stop ends the program. If ctx ends, the program is killed.
func OnTerminal(ctx context.Context, program *exec.Cmd, size Size) (*Terminal, error) {
	script, err := exec.LookPath("script")
	if err != nil {
		return nil, ErrNoTerminal
	}
	line := fmt.Sprintf("stty cols %d rows %d; exec", size.Columns, size.Rows)
	for _, arg := range program.Args {
		line += " '" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	cmd := exec.CommandContext(ctx, script, "-qfec", line, "/dev/null")
	cmd.Dir, cmd.Env, cmd.WaitDelay = program.Dir, append(program.Env, "TERM=xterm-256color", "SHELL=/bin/sh"), stopTimeout
	cmd.Cancel = func() error { killGroup(cmd); return nil }
	lead(cmd)
	t := &Terminal{cmd: cmd, done: make(chan struct{}), screen: newScreen(size.Columns, size.Rows)}
	cmd.Stdout, cmd.Stderr = t, t
	if t.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start %s in a terminal: %w", program.Path, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s in a terminal: %w", program.Path, err)
	}
	go func() {
		defer close(t.done)
		_ = cmd.Wait() // the screen shows why the process has ended
	}()
	return t, nil
}

// Resize changes the size of the terminal, and clears its screen. The program gets a signal, and draws itself again.
func (t *Terminal) Resize(size Size) error {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", t.PID()))
	if err != nil {
		return fmt.Errorf("resize a terminal: %w", err)
	}
	t.mu.Lock()
	t.screen = newScreen(size.Columns, size.Rows)
	t.mu.Unlock()
	file := fmt.Sprintf("/proc/%s/fd/0", strings.TrimSpace(string(children)))
	if out, err := exec.Command("stty", "-F", file, "cols", fmt.Sprint(size.Columns), "rows", fmt.Sprint(size.Rows)).CombinedOutput(); err != nil {
		return fmt.Errorf("resize a terminal: %w: %s", err, out)
	}
	return nil
}

func (t *Terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.raw.Write(p)
	t.screen.write(string(p))
	return len(p), nil
}

// Type types keys as the user would. For example, "\r" is the key that sends a prompt.
func (t *Terminal) Type(keys string) error {
	_, err := io.WriteString(t.stdin, keys)
	return err
}

// PID is the id of the process that provides the terminal. The program on the terminal is a child of this process.
func (t *Terminal) PID() int { return t.cmd.Process.Pid }

func (t *Terminal) Lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.lines()
}

func (t *Terminal) Await(ctx context.Context, words ...string) ([]string, error) {
	for {
		lines := t.Lines()
		text, isThere := strings.Join(lines, "\n"), true
		for _, w := range words {
			isThere = isThere && strings.Contains(text, w)
		}
		if isThere {
			return lines, nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-t.done:
			return lines, fmt.Errorf("the program has ended before its screen showed %q:\n%s", words, text)
		case <-ctx.Done():
			return lines, fmt.Errorf("the screen does not show %q:\n%s", words, text)
		}
	}
}

// Stop types ctrl-c twice, as a user does, and waits until the process has ended.
func (t *Terminal) Stop() error {
	_ = t.Type("\x03\x03") // the process may have ended, so an error does not matter
	var err error
	select {
	case <-t.done:
	case <-time.After(stopTimeout):
		err = fmt.Errorf("stop the program: it still runs %s after ctrl-c", stopTimeout)
	}
	killGroup(t.cmd)
	<-t.done
	return err
}
