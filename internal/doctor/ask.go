package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
)

// OpenCode unpacks itself on its first run, so `--version` may take long.
const versionTimeout = 10 * time.Second

// errSlow means that the program was stopped before it had answered. On a loaded machine, a program that works may be as
// slow.
var errSlow = fmt.Errorf("it took longer than %v", versionTimeout)

func VersionOf(ctx context.Context, program string) (string, error) {
	return outputOf(ctx, program, "--version")
}

// PluginsOf returns OpenCode's list of plugins. It asks only if a server is already running, because `opencode plugin
// list` would otherwise start one.
func PluginsOf(ctx context.Context, program string) (string, error) {
	if !serverRuns(ctx, os.Getenv) {
		return "", nil
	}
	return outputOf(ctx, program, "plugin", "list")
}

// serverRuns reports whether a background server of OpenCode 2 accepts connections. Such a server writes its address
// into a file.
func serverRuns(ctx context.Context, env func(string) string) bool {
	state := cmp.Or(env("XDG_STATE_HOME"), filepath.Join(env("HOME"), ".local", "state"))
	paths, _ := filepath.Glob(filepath.Join(state, "opencode", "service*.json")) // the pattern is valid
	for _, path := range paths {
		var service struct {
			URL string `json:"url"`
		}
		raw, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(raw, &service) != nil {
			continue
		}
		address, err := url.Parse(service.URL)
		if err != nil {
			continue
		}
		dialer := net.Dialer{Timeout: time.Second}
		if c, err := dialer.DialContext(ctx, "tcp", address.Host); err == nil {
			_ = c.Close() // nothing was sent
			return true
		}
	}
	return false
}

// If the program fails, the error is the last line of its stderr.
func outputOf(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.WaitDelay = time.Second // bounds the wait for child processes that keep its stdout open
	var told strings.Builder
	cmd.Stderr = &told
	out, err := cmd.Output()
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "", errSlow
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		lines := strings.Split(strings.TrimSpace(told.String()), "\n")
		if last := lines[len(lines)-1]; last != "" {
			err = fmt.Errorf("%w: %s", err, last)
		}
	}
	return cmp.Or(string(out), told.String()), err // Pi 0.74 prints its version to stderr
}
