package opencodetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

var ErrNotInstalled = errors.New("opencode is not installed, run npm ci in the repository")

// Binary returns OpenCode's executable in the node_modules of the repository at repo. The launcher of
// opencode-ai is a link that its install script makes. Without install scripts the link is missing, so Binary
// looks into the package of the platform.
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

// npm chooses packages only by operating system and architecture (x64, arm64). So it may install the variants
// for older processors and for musl, with or without the main one. The best package comes first.
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
