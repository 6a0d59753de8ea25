package install

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// bundle is the path of the built shim inside its package.
var bundle = filepath.Join("dist", "index.js")

// ErrNoShim means that there is no shim near the program.
var ErrNoShim = errors.New("no shim for OpenCode near the program; build it, or name it with --plugin")

// ShimSpec returns the plugin spec of the shim that belongs to the program at executable. It is the
// absolute path of the shim in the same repository, or in the npm package beside the program. A program
// that npx runs lies in a cache that may be gone tomorrow, so the spec is then the npm package with
// this version.
func ShimSpec(executable, version string) (string, error) {
	program, err := filepath.EvalSymlinks(executable)
	if err != nil {
		return "", fmt.Errorf("find the shim: %w", err)
	}
	for dir := filepath.Dir(program); ; dir = filepath.Dir(dir) {
		for _, candidate := range []string{
			filepath.Join(dir, "adapters", "opencode-shim", bundle),
			filepath.Join(dir, filepath.FromSlash(shimPackage), bundle),
			filepath.Join(dir, "node_modules", filepath.FromSlash(shimPackage), bundle),
		} {
			if !isFile(candidate) {
				continue
			}
			if strings.Contains(filepath.ToSlash(candidate), "/_npx/") {
				return shimPackage + "@" + version, nil
			}
			return candidate, nil
		}
		if dir == filepath.Dir(dir) {
			return "", ErrNoShim
		}
	}
}

var npmSpec = regexp.MustCompile(`^(@[a-z0-9._~-]+/)?[a-z0-9_~-][a-z0-9._~-]*(@.+)?$`)

// PluginSpec turns a plugin that the user named into a plugin spec: an existing file or directory as an
// absolute path, or an npm package.
func PluginSpec(named string) (string, error) {
	_, err := os.Stat(named)
	if err == nil {
		return filepath.Abs(named)
	}
	if strings.HasPrefix(named, "file://") {
		if isStale("", named) {
			return "", fmt.Errorf("plugin %s: no such file", named)
		}
		return named, nil
	}
	if !isPath(named) && npmSpec.MatchString(named) {
		return named, nil
	}
	return "", fmt.Errorf("plugin: %w", err)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
