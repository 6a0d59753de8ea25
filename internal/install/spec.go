package install

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// shimPackage is the npm package of the shim for OpenCode.
const shimPackage = "@magicctx/opencode"

// packageName returns the npm name in a plugin spec without its version; false
// for paths and addresses.
func packageName(spec string) (string, bool) {
	if isPath(spec) || strings.Contains(spec, "://") {
		return "", false
	}
	if at := strings.LastIndexByte(spec, '@'); at > 0 {
		// A version may hold further @: name@npm:@scope/other@1.
		name, _, _ := strings.Cut(spec[1:], "@")
		return spec[:1] + name, true
	}
	return spec, true
}

var drive = regexp.MustCompile(`^[A-Za-z]:[\\/]`)

// isPath tells paths and file URLs from npm packages.
func isPath(spec string) bool {
	return strings.HasPrefix(spec, ".") || strings.HasPrefix(spec, "/") || strings.HasPrefix(spec, "file:") ||
		strings.HasPrefix(spec, `\`) || drive.MatchString(spec)
}

// pathOf returns the absolute path that a spec in the configuration file means.
func pathOf(file, spec string) string {
	path := spec
	if strings.HasPrefix(spec, "file:") {
		path = strings.TrimPrefix(spec, "file:")
		if u, err := url.Parse(spec); err == nil && u.Path != "" {
			path = u.Path
		}
		if len(path) > 2 && path[0] == '/' && path[2] == ':' { // file:///C:/x
			path = path[1:]
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file), path)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// sameSpec tells whether two specs in one configuration file load the same
// plugin. Versions do not count: the same package is loaded once.
func sameSpec(file, a, b string) bool {
	nameA, packageA := packageName(a)
	nameB, packageB := packageName(b)
	if packageA != packageB {
		return false
	}
	if packageA {
		return nameA == nameB
	}
	return a == b || isPath(a) && isPath(b) && pathOf(file, a) == pathOf(file, b)
}

// isShim tells whether a spec loads the shim, wherever it lies.
func isShim(spec string) bool {
	if name, ok := packageName(spec); ok {
		return name == shimPackage
	}
	path := strings.TrimRight(strings.ReplaceAll(spec, `\`, "/"), "/")
	for _, suffix := range []string{"/index.js", "/dist"} {
		path = strings.TrimSuffix(path, suffix)
	}
	return strings.HasSuffix(path, "/opencode-shim") || strings.HasSuffix(path, "/"+shimPackage)
}

// isStale tells whether a spec is a path to nothing.
func isStale(file, spec string) bool {
	if !isPath(spec) {
		return false
	}
	_, err := os.Stat(pathOf(file, spec))
	return os.IsNotExist(err)
}
