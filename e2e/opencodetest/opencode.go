package opencodetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
)

type Options struct {
	Repo string
	// Several processes may share one Home.
	Home    *Home
	Project string
	MockURL string
	// Each entry of OpenCode's list `plugin` is a spec or [spec, options].
	Plugins []any
	// Limits apply to all models. The zero value means DefaultLimits.
	Limits Limits
	// LimitsOf overrides Limits for single models, by "provider/model".
	LimitsOf map[string]Limits
	// With FlatPrices, the cache saves no money: cached tokens cost as much as written tokens. So every bust pays off.
	// Without FlatPrices, the prices are those of Claude Sonnet.
	FlatPrices bool
	// ModelName is the name of ClaudeModel on OpenCode's screen. The default is "Claude Mock".
	ModelName string
	// ReadPrice is the price of a million cached tokens in $. 0 means 0.3, the price of Claude Sonnet.
	ReadPrice float64
	// Config is merged over the generated opencode.json, key by key.
	Config map[string]any
	Env    []string
	// With Inline, OpenCode gets the generated configuration in an environment variable and not in a file, and it lists
	// no plugins. So the home directory contains only files of the user.
	Inline bool
}

// A cold start takes 2-7 s on a loaded 2-core machine.
const startTimeout = 90 * time.Second

// A process usually needs 0.1 s to obey SIGTERM.
const stopTimeout = 5 * time.Second

type OpenCode struct {
	*Client
	PID int

	cmd    *exec.Cmd
	output *output
	done   chan struct{} // closed when the process has ended
}

// Start starts OpenCode and waits until it listens. OpenCode loads the plugins when it gets the first request for the
// project. Stop ends the process. If ctx ends, the process is killed.
func Start(ctx context.Context, o Options) (*OpenCode, error) {
	bin, err := Binary(o.Repo)
	if err != nil {
		return nil, err
	}
	env, err := o.configure()
	if err != nil {
		return nil, fmt.Errorf("start opencode: %w", err)
	}

	out := &output{listening: make(chan string, 1)}
	cmd := exec.CommandContext(ctx, bin, "serve", "--hostname", "127.0.0.1", "--port", "0")
	cmd.Dir, cmd.Env = o.Project, o.Home.Env(o.Project, env...)
	cmd.Stdout, cmd.Stderr = out, out
	// A child process of OpenCode may have inherited its pipes, and may run on. Wait must return nevertheless.
	cmd.WaitDelay = stopTimeout
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start opencode: %w", err)
	}
	oc := &OpenCode{PID: cmd.Process.Pid, cmd: cmd, output: out, done: make(chan struct{})}
	go func() {
		defer close(oc.done)
		_ = cmd.Wait() // no error matters: either we killed the process, or the next request fails
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

// Screen returns a command that starts OpenCode with its screen, and a client for its server.
func Screen(ctx context.Context, o Options) (*exec.Cmd, *Client, error) {
	bin, err := Binary(o.Repo)
	if err != nil {
		return nil, nil, err
	}
	env, err := o.configure()
	if err != nil {
		return nil, nil, fmt.Errorf("start opencode on a screen: %w", err)
	}
	port, err := FreePort()
	if err != nil {
		return nil, nil, fmt.Errorf("start opencode on a screen: %w", err)
	}
	cmd := exec.CommandContext(ctx, bin, "--hostname", "127.0.0.1", "--port", strconv.Itoa(port))
	cmd.Dir, cmd.Env = o.Project, o.Home.Env(o.Project, env...)
	return cmd, newClient("http://127.0.0.1:"+strconv.Itoa(port), o.Project), nil
}

func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (o Options) configure() ([]string, error) {
	c := config(o.MockURL, o)
	if !o.Inline {
		return o.Env, o.Home.writeConfig(c)
	}
	delete(c, "plugin")
	content, err := json.Marshal(c)
	return append(slices.Clone(o.Env), "OPENCODE_CONFIG_CONTENT="+string(content)), err
}

// Run runs `opencode run`. It returns the standard output and the exit code.
func Run(ctx context.Context, o Options, args ...string) (stdout string, code int, err error) {
	bin, err := Binary(o.Repo)
	if err != nil {
		return "", 0, err
	}
	if err := o.Home.writeConfig(config(o.MockURL, o)); err != nil {
		return "", 0, fmt.Errorf("run opencode: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, append([]string{"run"}, args...)...)
	cmd.Dir, cmd.Env = o.Project, o.Home.Env(o.Project, o.Env...)
	cmd.WaitDelay = stopTimeout
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return string(out), 0, fmt.Errorf("run opencode: %w", err)
	}
	return string(out), cmd.ProcessState.ExitCode(), nil
}

func (o *OpenCode) Output() string { return o.output.String() }

// Stop sends SIGTERM and waits. If the process does not end in time, Stop kills it.
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

type output struct {
	listening chan string // receives the address once

	// mu guards buf and sent.
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
