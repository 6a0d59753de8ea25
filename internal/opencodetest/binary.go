package opencodetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// ErrNotInstalled says that the repository has no OpenCode yet.
var ErrNotInstalled = errors.New("opencode is not installed, run npm ci in the repository")

// Binary returns OpenCode's executable in the node_modules of the repository at
// repo, or ErrNotInstalled.
//
// The launcher of the package opencode-ai is a link that its install script
// makes; where install scripts are off it is missing, so the platform package
// is asked.
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

// platformPackages names the packages that may hold the executable, best first.
// npm installs by operating system and processor only, so the variants for
// older processors and for musl may lie beside the main one, or alone.
func platformPackages(goos, goarch string) []string {
	system := map[string]string{"windows": "windows"}[goos]
	if system == "" {
		system = goos
	}
	arch := map[string]string{"amd64": "x64"}[goarch]
	if arch == "" {
		arch = goarch
	}
	base := "opencode-" + system + "-" + arch
	return []string{base, base + "-baseline", base + "-musl", base + "-baseline-musl"}
}
