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

// packageName returns the npm name in a plugin spec without its version, for example
// "@magicctx/opencode" for "@magicctx/opencode@1.2.3". It returns false for paths and URLs.
func packageName(spec string) (string, bool) {
	if isPath(spec) || strings.Contains(spec, "://") {
		return "", false
	}
	if at := strings.LastIndexByte(spec, '@'); at > 0 {
		// A version may contain another @, for example name@npm:@scope/other@1.
		name, _, _ := strings.Cut(spec[1:], "@")
		return spec[:1] + name, true
	}
	return spec, true
}

var drive = regexp.MustCompile(`^[A-Za-z]:[\\/]`)

// isPath reports whether a spec is a path or a file URL rather than an npm package.
func isPath(spec string) bool {
	return strings.HasPrefix(spec, ".") || strings.HasPrefix(spec, "/") || strings.HasPrefix(spec, "file:") ||
		strings.HasPrefix(spec, `\`) || drive.MatchString(spec)
}

// maxSpec is the longest path that an operating system opens. A longer spec is not a plugin that OpenCode
// could load.
const maxSpec = 4096

// pathOf returns the absolute path that a spec in the given configuration file stands for.
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
	if len(path) > maxSpec {
		return path
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// sameSpec reports whether two specs in one configuration file load the same plugin. Versions do not
// matter, because OpenCode loads a package once.
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

// isShim reports whether a spec loads the shim from any place.
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

// isStale reports whether a spec is a path at which nothing exists.
func isStale(file, spec string) bool {
	if !isPath(spec) {
		return false
	}
	_, err := os.Stat(pathOf(file, spec))
	return os.IsNotExist(err)
}
