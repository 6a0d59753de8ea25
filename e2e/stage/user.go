package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/pitest"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

type User struct {
	Product Product
	Home    *opencodetest.Home
	DataDir string
}

// root should be short (see opencodetest.NewHome).
func NewUser(root string, p Product) (*User, error) {
	home, err := opencodetest.NewHome(filepath.Join(root, "home"))
	if err != nil {
		return nil, err
	}
	return &User{Product: p, Home: home, DataDir: filepath.Join(root, "magic")}, nil
}

// WithoutHistorian switches the historian off, so the scripted model gets only the requests of the session.
const WithoutHistorian = `{"historian": {"disable": true}}`

// Configure writes the user's own magicctx.jsonc. Most settings are not allowed in a project's file.
func (u *User) Configure(settings string) error {
	dir := filepath.Join(u.Home.Config, "magicctx")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("configure magicctx: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "magicctx.jsonc"), []byte(settings), 0o600); err != nil {
		return fmt.Errorf("configure magicctx: %w", err)
	}
	return nil
}

// Bare returns options for OpenCode without the shim. OpenCode's compaction is off, as for users of the plugin.
// Snapshots are off because each step would run git twice.
func (u *User) Bare(project, mockURL string) opencodetest.Options {
	return opencodetest.Options{
		Repo: u.Product.Repo, Home: u.Home, Project: project, MockURL: mockURL, Env: u.hostEnv(),
		Config: map[string]any{"compaction": map[string]any{"auto": false, "prune": false}, "snapshot": false},
	}
}

func (u *User) WithPlugin(host, project, mockURL string) opencodetest.Options {
	o := u.Bare(project, mockURL)
	o.Plugins = []any{"file://" + filepath.ToSlash(u.Product.Shim)}
	o.Env = append(o.Env, "MAGICCTX_HOST="+host)
	return o
}

func (u *User) BarePi(project, mockURL string) pitest.Options {
	return pitest.Options{
		Repo: u.Product.Repo, Version: u.Product.Pi, Home: u.Home, Project: project, MockURL: mockURL, Env: u.hostEnv(),
	}
}

func (u *User) WithPi(host, project, mockURL string) pitest.Options {
	o := u.BarePi(project, mockURL)
	o.Extensions = []string{u.Product.PiShim}
	o.Env = append(o.Env, "MAGICCTX_HOST="+host)
	return o
}

func (u *User) hostEnv() []string { return []string{"MAGIC_CONTEXT_DATA_DIR=" + u.DataDir} }

var ErrNoHost = errors.New("no host runs")

const exitNoHost = 3

func (u *User) Status(ctx context.Context) (status schema.StatusResult, err error) {
	cmd := exec.CommandContext(ctx, u.Product.Host, "status", "--json")
	cmd.Env = u.Home.Env(u.Home.Root, u.hostEnv()...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == exitNoHost:
		return status, ErrNoHost
	case errors.As(err, &exit):
		return status, fmt.Errorf("magicctx-host status: %w: %s", err, exit.Stderr)
	case err != nil:
		return status, fmt.Errorf("magicctx-host status: %w", err)
	}
	if err := json.Unmarshal(out, &status); err != nil {
		return status, fmt.Errorf("magicctx-host status printed %q: %w", out, err)
	}
	return status, nil
}

// Host runs a command of magicctx-host, for example "history list", and returns its output.
func (u *User) Host(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, u.Product.Host, args...)
	cmd.Env = u.Home.Env(u.Home.Root, u.hostEnv()...)
	out, err := cmd.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return out, fmt.Errorf("magicctx-host %v: %w: %s", args, err, exit.Stderr)
	}
	if err != nil {
		return out, fmt.Errorf("magicctx-host %v: %w", args, err)
	}
	return out, nil
}

// StopHost ends the host, and waits until its process is gone. If no host is running, it does nothing.
func (u *User) StopHost(ctx context.Context) error {
	status, err := u.Status(ctx)
	if errors.Is(err, ErrNoHost) {
		return nil
	}
	if err != nil {
		return err
	}
	return End(ctx, status.PID, os.Interrupt)
}

// endTimeout is longer than the 5 s for which an ending host waits for calls.
const endTimeout = 10 * time.Second

// End sends the signal to a process, and waits until the process is gone. It has to poll, because the system lets a
// program wait only for its own child processes.
func End(ctx context.Context, pid int, signal os.Signal) error {
	process, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("end process %d: %w", pid, err)
	}
	if err := process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end process %d: %w", pid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for isAlive(process) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("end process %d with %s: %w", pid, signal, ctx.Err())
		}
	}
	return nil
}
