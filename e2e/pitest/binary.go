package pitest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// ErrNotInstalled means that the repository's node_modules lacks Pi, or a Node that can run it.
var ErrNotInstalled = errors.New("pi is not installed, run npm ci in the repository")

type Version string

const (
	// V087 needs Node 22.19 or newer. It is the default.
	V087 Version = "0.87"
	// V074 is the oldest release that the shim supports. Its events are not synchronised with its agent loop.
	V074 Version = "0.74"
)

var entries = map[Version]string{V087: "dist/bundle/cli.js", V074: "dist/cli.js"}

type Program struct {
	Node, Entry string
}

// Find looks in the repository's node_modules for a version of Pi and for a Node that can run it. npm provides this
// Node only for Linux. On other systems, Find uses the node in PATH if it is new enough.
func Find(ctx context.Context, repo string, v Version) (Program, error) {
	modules, err := filepath.Abs(filepath.Join(repo, "node_modules"))
	if err != nil {
		return Program{}, fmt.Errorf("find pi: %w", err)
	}
	entry := filepath.Join(modules, "pi-"+string(v), filepath.FromSlash(entries[v]))
	if _, err := os.Stat(entry); err != nil {
		return Program{}, fmt.Errorf("%w (no pi-%s in %s)", ErrNotInstalled, v, modules)
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	node := filepath.Join(modules, "node-"+runtime.GOOS+"-"+arch, "bin", "node")
	if info, err := os.Stat(node); err == nil && info.Mode().IsRegular() {
		return Program{node, entry}, nil
	}
	if node, err = nodeInPath(ctx); err != nil {
		return Program{}, fmt.Errorf("%w (%w)", ErrNotInstalled, err)
	}
	return Program{node, entry}, nil
}

// This version of Node runs every pinned Pi.
var oldestNode = [2]int{22, 19}

func nodeInPath(ctx context.Context) (string, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, node, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", node, err)
	}
	version := strings.Split(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), ".")
	if len(version) < 2 {
		return "", fmt.Errorf("%s has version %q", node, out)
	}
	major, _ := strconv.Atoi(version[0])
	minor, _ := strconv.Atoi(version[1])
	if major < oldestNode[0] || major == oldestNode[0] && minor < oldestNode[1] {
		return "", fmt.Errorf("pi needs Node %d.%d, %s has %s", oldestNode[0], oldestNode[1], node, strings.TrimSpace(string(out)))
	}
	return node, nil
}
