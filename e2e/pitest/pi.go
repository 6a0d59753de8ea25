package pitest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/e2e/opencodetest"
)

type Options struct {
	Repo string
	// If Version is empty, V087 runs.
	Version Version
	// Several processes may share one Home, even with OpenCode.
	Home       *opencodetest.Home
	Project    string
	MockURL    string
	Extensions []string
	// Model is "provider/model". If it is empty, opencodetest.ClaudeModel answers.
	Model string
	// Thinking is Pi's level of thinking. The default is "off". With another level, the provider expects thinking at
	// the start of each turn.
	Thinking string
	// Limits apply to all models. The zero value means opencodetest.DefaultLimits.
	Limits opencodetest.Limits
	// LimitsOf overrides Limits for single models, by "provider/model".
	LimitsOf map[string]opencodetest.Limits
	// With FlatPrices, cached tokens cost as much as written tokens, so every bust pays off. Otherwise, the models have
	// the prices of Claude Sonnet.
	FlatPrices bool
	// Settings is merged over the generated settings.json, key by key.
	Settings map[string]any
	// KeepSettings means that Pi starts with the settings.json that is already in its home directory.
	KeepSettings bool
	Args         []string
	Env          []string
}

// A cold start takes 1-4 s on a loaded 2-core machine, so startTimeout leaves much room.
const startTimeout = 90 * time.Second

// The process must end within stopTimeout after its input has ended.
const stopTimeout = 10 * time.Second

type Pi struct {
	PID int

	version Version
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	stderr  *buffer
	records *records
	done    chan struct{} // closed when the process has ended and all output has been read
	ended   sync.Once     // guards the end, because after it another process may have the process id
}

// Start waits until Pi answers in rpc mode. Stop ends the process, and the end of ctx kills it.
func Start(ctx context.Context, o Options) (*Pi, error) {
	cmd, err := o.command(ctx, "--mode", "rpc")
	if err != nil {
		return nil, fmt.Errorf("start pi: %w", err)
	}
	p := &Pi{version: cmp.Or(o.Version, V087), cmd: cmd, stderr: &buffer{}, records: newRecords(), done: make(chan struct{})}
	cmd.Stderr = p.stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start pi: %w", err)
	}
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start pi: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start pi: %w", err)
	}
	p.PID = cmd.Process.Pid
	go func() {
		defer close(p.done)
		p.records.read(stdout)
		_ = cmd.Wait() // no error matters: either we killed the process, or the next request fails
	}()
	ready, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if _, err := p.State(ready); err != nil {
		return nil, errors.Join(fmt.Errorf("start pi: %w\n%s", err, p.stderr), p.Stop())
	}
	return p, nil
}

func (o Options) command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	program, err := Find(ctx, o.Repo, cmp.Or(o.Version, V087))
	if err != nil {
		return nil, err
	}
	env, err := o.configure()
	if err != nil {
		return nil, err
	}
	args = append([]string{program.Entry, "--model", cmp.Or(o.Model, opencodetest.ClaudeModel), "--thinking", cmp.Or(o.Thinking, "off"), "-e", controlPath(o.Home)}, args...)
	cmd := exec.CommandContext(ctx, program.Node, append(args, o.Args...)...)
	cmd.Dir, cmd.Env = o.Project, env
	cmd.Cancel = func() error { killGroup(cmd); return nil }
	// A grandchild process may have inherited the pipes and keep them open. Without WaitDelay, Wait would wait for this
	// process, too.
	cmd.WaitDelay = stopTimeout
	lead(cmd)
	return cmd, nil
}

type Printed struct {
	Stdout, Stderr string
	Code           int
}

// Run runs Pi until it ends, for example with "--print" and a prompt.
func Run(ctx context.Context, o Options, args ...string) (Printed, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	cmd, err := o.command(ctx, args...)
	if err != nil {
		return Printed{}, fmt.Errorf("run pi: %w", err)
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	var exit *exec.ExitError
	if ctx.Err() != nil {
		err = ctx.Err()
	} else if errors.As(err, &exit) {
		err = nil
	}
	if err != nil {
		return Printed{}, fmt.Errorf("run pi: %w\n%s\n%s", err, &out, &errs)
	}
	killGroup(cmd)
	return Printed{out.String(), errs.String(), cmd.ProcessState.ExitCode()}, nil
}

// Output returns what the process has printed to standard error.
func (p *Pi) Output() string { return p.stderr.String() }

// Stop closes Pi's stdin, as a client does when it quits, and waits until Pi has ended. Then it kills what is left of
// the process group. If Pi itself had to be killed, Stop returns an error.
func (p *Pi) Stop() (err error) {
	p.ended.Do(func() {
		_ = p.stdin.Close() // the process may have ended, so an error does not matter
		select {
		case <-p.done:
		case <-time.After(stopTimeout):
			err = fmt.Errorf("stop pi: it still runs %s after the end of its input", stopTimeout)
		}
		killGroup(p.cmd)
		<-p.done
	})
	return err
}

// Kill kills Pi and its process group, like a crash of the machine.
func (p *Pi) Kill() {
	p.ended.Do(func() {
		killGroup(p.cmd)
		<-p.done
	})
}

// A process writes to the buffer while tests read.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
