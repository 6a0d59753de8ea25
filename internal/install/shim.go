package install

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// bundle is where the shim lies in its package.
var bundle = filepath.Join("dist", "index.js")

// ErrNoShim says that no shim lies near the program.
var ErrNoShim = errors.New("no shim for OpenCode near the program; build it, or name it with --plugin")

// ShimSpec returns the plugin spec of the shim that belongs to the program at
// executable: the absolute path of the one in its repository or in the npm
// package beside it. A copy of npx is gone tomorrow, so there it is the npm
// package with this version.
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

// PluginSpec returns the plugin spec for what a user named: a file or
// directory that exists, made absolute, or an npm package.
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
