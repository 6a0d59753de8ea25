package install

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/regular"
	"github.com/magicctx/magicctx-host/schema"
)

type Shim struct {
	Bundle []byte
	// Loader is a small file that is installed in a project. It loads the bundle from the data directory of the user
	// who runs it.
	Loader []byte
	// Terminal is the part of the plugin for OpenCode's terminal interface. OpenCode 2 looks for it in the shim's
	// directory. TerminalLoader loads it from a project, as Loader loads the bundle. Both are nil for other harnesses.
	Terminal, TerminalLoader []byte
	// Host is an absolute path.
	Host string
	// If Host is a copy in the data directory, Program is its content.
	Program []byte
}

const (
	bundleName   = "index.js"
	terminalName = "tui.js"
	hostRecord   = "host.json"
)

// A hostOf is the content of the host record, which names the program to start. The plugin reads the record before each
// start of a host, so a new installation also repairs a harness that is already running.
type hostOf struct {
	Host string `json:"host"`
}

func (p Place) shimFile(name string) string {
	return filepath.Join(p.DataDir, p.Harness.shimDirectory, name)
}

type ownFile struct {
	path    string
	content []byte
	perm    fs.FileMode
}

func (f ownFile) differs() (bool, error) {
	info, err := os.Lstat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%s is a link or a directory; remove it", f.path)
	case info.Size() != int64(len(f.content)):
		return true, nil
	}
	content, err := regular.Read(f.path, int64(len(f.content)))
	return !bytes.Equal(content, f.content), err
}

func (f ownFile) write() error {
	if err := regular.MakeDirectory(filepath.Dir(f.path), f.perm|(f.perm&0o444)>>2); err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	return regular.Replace(f.path, f.content, f.perm)
}

// shimFiles returns the files that are missing or differ, and the spec for the configuration file.
func (p Place) shimFiles(s Shim, configuration string) (files []ownFile, spec string, err error) {
	record, err := json.MarshalIndent(hostOf{s.Host})
	if err != nil {
		return nil, "", err
	}
	spec = p.shimFile(bundleName)
	all := []ownFile{{spec, s.Bundle, 0o600}, {p.shimFile(hostRecord), append(record, '\n'), 0o600}}
	if s.Terminal != nil {
		all = append(all, ownFile{p.shimFile(terminalName), s.Terminal, 0o600})
	}
	if s.Program != nil {
		all = append(all, ownFile{s.Host, s.Program, 0o700})
	}
	if p.Project != "" {
		loader, err := p.loaderFile()
		if err != nil {
			return nil, "", err
		}
		all = append(all, ownFile{loader, s.Loader, 0o644})
		if s.TerminalLoader != nil {
			all = append(all, ownFile{filepath.Join(filepath.Dir(loader), terminalName), s.TerminalLoader, 0o644})
		}
		// The configuration may be committed, so it must not name a path of this machine.
		relative, err := filepath.Rel(filepath.Dir(configuration), loader)
		if err != nil {
			return nil, "", fmt.Errorf("name the plugin: %w", err)
		}
		spec = "./" + filepath.ToSlash(relative)
	}
	if p.Harness.loadsDirectories {
		spec = spec[:len(spec)-len("/"+bundleName)]
	}
	for _, f := range all {
		differs, err := f.differs()
		if err != nil {
			return nil, "", err
		}
		if differs {
			files = append(files, f)
		}
	}
	return files, spec, nil
}

// loaderFile refuses a directory that is a link, because the link may lead out of the project.
func (p Place) loaderFile() (string, error) {
	project, err := regular.RealPath(p.Project)
	if err != nil {
		return "", fmt.Errorf("find the project: %w", err)
	}
	file := filepath.Join(project, p.Harness.projectDirectory, p.Harness.shimDirectory, bundleName)
	for dir := filepath.Dir(file); dir != project; dir = filepath.Dir(dir) {
		if isLink(dir) {
			return "", fmt.Errorf("%s is a link; remove it, or install for all projects", dir)
		}
	}
	return file, nil
}

func (p Place) loadersAmong(files []ownFile) (found []ownFile) {
	loader, err := p.loaderFile()
	if p.Project == "" || err != nil {
		return nil
	}
	for _, f := range files {
		if filepath.Dir(f.path) == filepath.Dir(loader) {
			found = append(found, f)
		}
	}
	return found
}

// checkLoader refuses to replace a loader that no installation wrote. Such a file may be the work of the repository's
// author, so the user has to look at it first.
func (p Place) checkLoader(files []ownFile, earlier *record) error {
	for _, f := range p.loadersAmong(files) {
		if slices.Contains(earlier.ownLoaders(p), f.path) {
			continue
		}
		if _, err := os.Lstat(f.path); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is not a loader that was installed here; look at it, remove it, and install again", f.path)
		}
	}
	return nil
}

// The path of a loader in a configuration names either the loader itself or its directory. loaderAt returns the loader
// for such a path. If the path does not exist, or is not in the project's directory for plugins, loaderAt returns "".
func (p Place) loaderAt(path string) string {
	dir := strings.TrimSuffix(path, string(filepath.Separator)+bundleName)
	if !strings.HasSuffix(dir, filepath.Join(string(filepath.Separator), p.Harness.projectDirectory, p.Harness.shimDirectory)) {
		return ""
	}
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return filepath.Join(dir, bundleName)
}

// shimToRemove returns the files that an uninstallation deletes. It returns none if another installation of the same
// harness still uses the shim. The installations of all harnesses share the copy of the program, so only the last one
// deletes the copy.
func (p Place) shimToRemove(plan *Plan) ([]string, error) {
	dir := filepath.Dir(plan.vault.record)
	records, err := fs.Glob(os.DirFS(dir), "*.json")
	if err != nil {
		return nil, fmt.Errorf("look for other installations: %w", err)
	}
	files := []string{p.shimFile(bundleName), p.shimFile(terminalName), p.shimFile(hostRecord), p.programCopy()}
	for _, name := range records {
		file := filepath.Join(dir, name)
		if file == plan.vault.record || plan.panel != nil && file == plan.panel.vault.record {
			continue
		}
		var other record
		content, err := readOwn(file)
		if err != nil || json.Unmarshal(content, &other) != nil || cmp.Or(other.Harness, schema.HarnessOpenCode) == p.Harness.ID {
			return nil, nil // this is an installation of the same harness, or its record is unreadable
		}
		files = files[:3]
	}
	return files, nil
}

func removeOwn(files []string) error {
	for _, file := range files {
		if err := removeFile(file); err != nil {
			return err
		}
	}
	for _, file := range files {
		os.Remove(filepath.Dir(file)) // this fails while the directory holds other files
	}
	return nil
}

// The caches of npx and `go run` may be deleted at any time. So the shim must not start a program in them.
var inCache = regexp.MustCompile(`/_npx/|/go-build[^/]*/`)

// UseHost chooses the program that the shim starts. `invoked` is the path by which this program was started, and may be
// a link. If the link leads to `executable`, UseHost chooses `invoked`, because a link stays valid after an update. But
// if `executable` is in a cache, UseHost chooses a copy in the data directory.
func (s *Shim) UseHost(p Place, executable, invoked string) (err error) {
	if inCache.MatchString(filepath.ToSlash(executable)) {
		s.Host = p.programCopy()
		if s.Program, err = os.ReadFile(executable); err != nil {
			return fmt.Errorf("copy the program: %w", err)
		}
		return nil
	}
	if filepath.IsAbs(invoked) && isSameFile(invoked, executable) {
		s.Host = invoked
		return nil
	}
	s.Host, err = filepath.Abs(executable)
	return err
}

func (p Place) programCopy() string {
	name := "magicctx-host"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(p.DataDir, "bin", name)
}

func isSameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

type ShimProblem struct {
	Problem string
	IsFatal bool
	// Program is the program that the plugin starts. It is empty if this is the running program.
	Program string
}

// ShimProblems compares the installed shim with s, the shim of this program. If none is installed, it finds no
// problems.
func (p Place) ShimProblems(s Shim) ([]ShimProblem, error) {
	bundle, err := readOwn(p.shimFile(bundleName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the plugin: %w", err)
	}
	var found []ShimProblem
	terminal, err := readOwn(p.shimFile(terminalName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the plugin: %w", err)
	}
	if !bytes.Equal(bundle, s.Bundle) || !bytes.Equal(terminal, s.Terminal) {
		found = append(found, ShimProblem{Problem: fmt.Sprintf("the plugin in %s is of another version than this program", p.shimFile(bundleName))})
	}
	content, err := readOwn(p.shimFile(hostRecord))
	var record hostOf
	if err == nil {
		err = json.Unmarshal(content, &record)
	}
	info, statErr := os.Stat(record.Host)
	switch {
	case err != nil || !filepath.IsAbs(record.Host):
		found = append(found, ShimProblem{Problem: fmt.Sprintf("%s does not say which host the plugin starts", p.shimFile(hostRecord)), IsFatal: true})
	case statErr != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		found = append(found, ShimProblem{Problem: fmt.Sprintf("the plugin starts %s, which is gone or cannot be executed", record.Host), IsFatal: true})
	case !isSameFile(record.Host, s.Host):
		found = append(found, ShimProblem{Problem: fmt.Sprintf("the plugin starts another program than this one: %s", record.Host), Program: record.Host})
	}
	return found, nil
}

func (p Place) RenewShim(s Shim) error {
	p.Project = "" // the loader of a project needs no renewal: it loads the bundle of any version
	files, _, err := p.shimFiles(s, "")
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := f.write(); err != nil {
			return err
		}
	}
	return nil
}

var npmSpec = regexp.MustCompile(`^(@[a-z0-9._~-]+/)?[a-z0-9_~-][a-z0-9._~-]*(@.+)?$`)

// PluginSpec returns the spec of the plugin that the user has named. A name of an existing file or directory becomes an
// absolute path. Any other name, unless it is a file URL, is the name of an npm package.
func (p Place) PluginSpec(named string) (string, error) {
	_, err := os.Stat(named)
	if err == nil {
		return filepath.Abs(named)
	}
	if strings.HasPrefix(named, "file://") {
		if p.isStale("", named) {
			return "", fmt.Errorf("plugin %s: no such file", named)
		}
		return named, nil
	}
	if npmSpec.MatchString(strings.TrimPrefix(named, p.Harness.npmSpec(""))) {
		return p.Harness.npmSpec(named), nil
	}
	return "", fmt.Errorf("plugin: %w", err)
}
