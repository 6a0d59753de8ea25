package opencodetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

var ErrNotInstalled = errors.New("opencode is not installed, run npm ci in the repository")

// Binary returns OpenCode's program in the node_modules of the repository. Usually, the install script of opencode-ai
// links to it. If install scripts are switched off, Binary looks into the package of the platform.
func Binary(repo string) (string, error) {
	modules, err := filepath.Abs(filepath.Join(repo, "node_modules"))
	if err != nil {
		return "", fmt.Errorf("find opencode: %w", err)
	}
	name := "opencode"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	packages := platformPackages(runtime.GOOS, runtime.GOARCH)
	for _, pkg := range packages {
		path := filepath.Join(modules, pkg, "bin", name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w (no %s in %s)", ErrNotInstalled, packages[0], modules)
}

// npm selects packages only by system and architecture, so it may also install the variants for older processors and
// for musl. platformPackages lists the best package first.
func platformPackages(goos, goarch string) []string {
	arch := map[string]string{"amd64": "x64"}[goarch]
	if arch == "" {
		arch = goarch
	}
	base := "opencode-" + goos + "-" + arch
	return []string{base, base + "-baseline", base + "-musl", base + "-baseline-musl"}
}
