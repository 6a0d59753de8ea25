package install

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A version may contain another @, for example name@npm:@scope/other@1.
func withoutVersion(spec string) string {
	if spec == "" {
		return ""
	}
	name, _, _ := strings.Cut(spec[1:], "@")
	return spec[:1] + name
}

var drive = regexp.MustCompile(`^[A-Za-z]:[\\/]`)

// maxSpec is the longest path that an operating system opens.
const maxSpec = 4096

func (p Place) pathOf(file, spec string) string {
	path := p.expandHome(spec)
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

// sameSpec reports whether two entries of a plugin list name the same plugin. It ignores the version of a package,
// because a harness loads each package only once.
func (p Place) sameSpec(file, a, b string) bool {
	nameA, isPackageA := p.Harness.nameOf(a)
	nameB, isPackageB := p.Harness.nameOf(b)
	if isPackageA != isPackageB {
		return false
	}
	if isPackageA {
		return nameA == nameB
	}
	return a == b || p.Harness.isPath(a) && p.Harness.isPath(b) && p.scriptAt(p.pathOf(file, a)) == p.scriptAt(p.pathOf(file, b))
}

// Earlier installations have listed the script instead of its directory.
func (p Place) isScriptOf(file, entry, spec string) bool {
	return p.Harness.isPath(entry) && p.Harness.isPath(spec) && p.pathOf(file, entry) != p.pathOf(file, spec) &&
		p.pathOf(file, entry) == p.scriptAt(p.pathOf(file, spec))
}

func (p Place) isShim(spec string) bool {
	if name, ok := p.Harness.nameOf(spec); ok {
		return name == p.Harness.Package
	}
	path := "/" + strings.TrimRight(strings.ReplaceAll(spec, `\`, "/"), "/")
	for _, suffix := range []string{"/" + bundleName, "/" + terminalName, "/dist"} {
		path = strings.TrimSuffix(path, suffix)
	}
	return strings.HasSuffix(path, "/"+p.Harness.shimDirectory) || strings.HasSuffix(path, "/"+p.Harness.Package)
}

func (p Place) isStale(file, spec string) bool {
	if !p.Harness.isPath(spec) {
		return false
	}
	_, err := os.Stat(p.pathOf(file, spec))
	return os.IsNotExist(err)
}
