package opencodetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"time"
)

// Options say what to start.
type Options struct {
	// Repo is the root of the repository, for node_modules.
	Repo string
	// Home is where OpenCode lives; several processes may share one.
	Home *Home
	// Project is the directory it works in.
	Project string
	// MockURL is the address of the mock provider.
	MockURL string
	// Plugins are entries of OpenCode's `plugin` list: a spec, or [spec, options].
	Plugins []any
	// Limits of all models; zero means DefaultLimits.
	Limits Limits
	// LimitsOf are the limits of single models, by "provider/model".
	LimitsOf map[string]Limits
	// FlatPrices makes reading from the provider's cache as dear as writing to
	// it, so that any bust pays off; otherwise it is a Claude Sonnet's list.
	FlatPrices bool
	// Config is merged over the generated opencode.json, key by key.
	Config map[string]any
	// Env holds more entries for the environment ("KEY=value").
	Env []string
}

// startTimeout is generous: a cold start takes 2-7 s on a loaded 2-core machine.
const startTimeout = 90 * time.Second

// stopTimeout is how long a process may take to follow SIGTERM; it needs 0.1 s.
const stopTimeout = 5 * time.Second

// An OpenCode is a running `opencode serve`.
type OpenCode struct {
	*Client
	// PID is its process id.
	PID int

	cmd    *exec.Cmd
	output *output
	done   chan struct{} // closed when the process has ended
}

// Start starts OpenCode and waits until it listens. The plugins are loaded by
// the first request for the project. The process ends with Stop, or killed when
// ctx ends.
func Start(ctx context.Context, o Options) (*OpenCode, error) {
	bin, err := Binary(o.Repo)
	if err != nil {
		return nil, err
	}
	if err := o.Home.writeConfig(config(o.MockURL, o)); err != nil {
		return nil, fmt.Errorf("start opencode: %w", err)
	}

	out := &output{listening: make(chan string, 1)}
	cmd := exec.CommandContext(ctx, bin, "serve", "--hostname", "127.0.0.1", "--port", "0")
	cmd.Dir, cmd.Env = o.Project, o.Home.Env(o.Project, o.Env...)
	cmd.Stdout, cmd.Stderr = out, out
	// A grandchild that inherited the pipes must not keep Wait from returning.
	cmd.WaitDelay = stopTimeout
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start opencode: %w", err)
	}
	oc := &OpenCode{PID: cmd.Process.Pid, cmd: cmd, output: out, done: make(chan struct{})}
	go func() {
		defer close(oc.done)
		_ = cmd.Wait() // killed by us, or seen by whoever needs an answer
	}()

	select {
	case url := <-out.listening:
		oc.Client = newClient(url, o.Project)
		return oc, nil
	case <-oc.done:
		return nil, fmt.Errorf("start opencode: it ended: %s\n%s", cmd.ProcessState, out)
	case <-time.After(startTimeout):
		return nil, errors.Join(fmt.Errorf("start opencode: not listening after %s\n%s", startTimeout, out), oc.Stop())
	}
}

// Output returns what the process has printed.
func (o *OpenCode) Output() string { return o.output.String() }

// Stop ends the process, politely first, and waits for it.
func (o *OpenCode) Stop() error {
	if err := o.cmd.Process.Signal(terminate); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop opencode: %w", err)
	}
	select {
	case <-o.done:
		return nil
	case <-time.After(stopTimeout):
	}
	if err := o.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill opencode: %w", err)
	}
	<-o.done
	return nil
}

// output collects what the process prints and finds the address in it.
type output struct {
	listening chan string // gets the address once

	mu   sync.Mutex
	buf  bytes.Buffer
	sent bool
}

var listeningLine = regexp.MustCompile(`listening on (http://[^\s]+)`)

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf.Write(p)
	if !o.sent {
		if m := listeningLine.FindSubmatch(o.buf.Bytes()); m != nil {
			o.sent = true
			o.listening <- string(m[1])
		}
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
