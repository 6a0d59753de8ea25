package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"

	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/pitest"
)

// ErrCannotBuild means that this machine lacks a tool. It does not mean that the code is broken.
var ErrCannotBuild = errors.New("cannot build the product here")

// A Product holds the parts that users install.
type Product struct {
	Repo string // the root of the repository
	Host string // the host's binary
	Shim string // the bundle of the OpenCode shim
	// PiShim is the directory with the Pi shim's package, as users install it.
	PiShim string
	// Pi is the version of Pi that the users run. The default is pitest.V087.
	Pi pitest.Version
}

// Build builds the product into dir. repo is the root of the repository. If npm or the node_modules are missing, the
// error is ErrCannotBuild.
func Build(ctx context.Context, repo, dir string) (Product, error) {
	repo, err := filepath.Abs(repo)
	if err != nil {
		return Product{}, err
	}
	if _, err := opencodetest.Binary(repo); err != nil {
		return Product{}, fmt.Errorf("%w: %w", ErrCannotBuild, err)
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return Product{}, fmt.Errorf("%w: %w", ErrCannotBuild, err)
	}
	p := Product{
		Repo: repo, Host: filepath.Join(dir, "magicctx-host"),
		Shim: filepath.Join(dir, "index.js"), PiShim: filepath.Join(dir, "pi"),
	}
	if runtime.GOOS == "windows" {
		p.Host += ".exe"
	}
	// The build writes the bundle into the repository. Without a lock, another test could read a half-written bundle.
	tree := flock.New(filepath.Join(repo, "node_modules", ".magicctx-e2e.lock"))
	if _, err := tree.TryLockContext(ctx, 50*time.Millisecond); err != nil {
		return Product{}, fmt.Errorf("wait for another build: %w", err)
	}
	defer tree.Unlock()
	for _, command := range [][]string{
		{"go", "build", "-o", p.Host, "./cmd/magicctx-host"},
		{npm, "run", "--silent", "build"},
	} {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Dir = repo
		if out, err := cmd.CombinedOutput(); err != nil {
			return Product{}, fmt.Errorf("build: %v: %w\n%s", command, err, out)
		}
	}
	adapters := filepath.Join(repo, "adapters")
	for from, to := range map[string]string{
		filepath.Join(adapters, "opencode-shim", "dist", "index.js"): p.Shim,
		filepath.Join(adapters, "opencode-shim", "dist", "tui.js"):   filepath.Join(dir, "tui.js"),
		filepath.Join(adapters, "pi-shim", "dist", "index.js"):       filepath.Join(p.PiShim, "dist", "index.js"),
		filepath.Join(adapters, "pi-shim", "package.json"):           filepath.Join(p.PiShim, "package.json"),
	} {
		if err := copyFile(from, to); err != nil {
			return Product{}, fmt.Errorf("build: %w", err)
		}
	}
	return p, nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}
