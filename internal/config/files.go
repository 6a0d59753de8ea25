package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/jsonc"
	"github.com/magicctx/magicctx-host/internal/regular"
	"github.com/magicctx/magicctx-host/schema"
)

const (
	ownName       = "magicctx"
	referenceName = "magic-context"
)

// maxFileBytes bounds the size of a settings file, because a repository may contain a huge file under our name.
const maxFileBytes = 256 << 10

func (l *loader) userFiles(harness schema.Harness) []string {
	config := l.env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) { // the XDG specification says to ignore relative paths
		config = l.underHome(".config")
	}
	var dirs []string
	switch harness.Program() {
	case schema.HarnessOpenCode:
		dirs = []string{l.env("OPENCODE_CONFIG_DIR"), join(config, "opencode")}
	case schema.HarnessPi:
		dirs = []string{l.env("PI_CODING_AGENT_DIR"), l.underHome(".pi", "agent")}
	}
	var files []string
	for _, dir := range append(dirs, join(config, ownName)) {
		files = append(files, bothSuffixes(l.expandHome(dir), ownName)...)
	}
	for _, dir := range dirs {
		files = append(files, bothSuffixes(l.expandHome(dir), referenceName)...)
	}
	return files
}

func projectFiles(harness schema.Harness, dir string) []string {
	hidden := filepath.Join(dir, "."+string(harness.Program()))
	var files []string
	for _, name := range []string{ownName, referenceName} {
		files = append(files, bothSuffixes(dir, name)...)
		if harness != "" {
			files = append(files, bothSuffixes(hidden, name)...)
		}
	}
	return files
}

// bothSuffixes returns the two possible paths of a settings file. If dir is relative, it returns none, because it
// cannot know to which directory the path is relative: the host's working directory is not the user's.
func bothSuffixes(dir, name string) []string {
	if !filepath.IsAbs(dir) {
		return nil
	}
	return []string{filepath.Join(dir, name+".jsonc"), filepath.Join(dir, name+".json")}
}

func (l *loader) underHome(elems ...string) string { return join(l.home, elems...) }

func join(dir string, elems ...string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(append([]string{dir}, elems...)...)
}

func (l *loader) expandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && l.home != "" {
		return filepath.Join(l.home, rest)
	}
	return path
}

// `without` returns the candidates for the project's file except `file`. A session may run in the user's own
// configuration directory. Then the user's file looks like a file of the project, too, but must not be read twice.
func without(file string, candidates []string) []string {
	return slices.DeleteFunc(candidates, func(candidate string) bool { return candidate == file })
}

// `read` uses the first candidate that exists. If this file does not parse, `read` warns and returns an empty level. It
// does not try the other candidates, because the user meant this file. project is the project's directory, or "" for
// the user's own files.
func (l *loader) read(project string, candidates []string) level {
	stat := os.Stat
	if project != "" {
		stat = os.Lstat // Lstat also finds a broken link, and the user gets a warning of it
	}
	for i, file := range candidates {
		info, err := stat(file)
		if !l.isEdited(project, file) && (errors.Is(err, os.ErrNotExist) || err == nil && info.IsDir()) {
			continue
		}
		l.warnShadowed(file, info, candidates[i+1:])
		lv := level{file: file}
		var repeated []repeatedKey
		if lv.tree, lv.lines, repeated, err = l.parseFile(project, file); err != nil {
			l.warnings.add(Warning{File: file, Message: fmt.Sprintf("%s: %v; the file is ignored", file, err)})
			return lv
		}
		for _, k := range repeated {
			l.warnKey(&lv, k.at, fmt.Sprintf("stands here and in line %d; where the two differ, this one counts", k.first))
		}
		l.warnModelNames(&lv)
		lv.named = make(map[string]bool, len(lv.tree))
		for key := range lv.tree {
			lv.named[key] = true
		}
		if block, isBlock := lv.tree["dreamer"].(object); isBlock && len(block) == 1 && block["pin_key_files"] != nil {
			delete(lv.named, "dreamer") // these outlines need no dreamer
		}
		moveOldKeys(lv.tree)
		return lv
	}
	return level{}
}

// warnShadowed warns that a second file with our name has no effect. It ignores files of the original plugin, because
// that plugin may still be in use. It also ignores a second path of the same file, which happens for example if
// OPENCODE_CONFIG_DIR names the default directory.
func (l *loader) warnShadowed(file string, first os.FileInfo, others []string) {
	for _, other := range others {
		if !strings.HasPrefix(filepath.Base(other), ownName+".") {
			continue
		}
		if info, err := os.Stat(other); err == nil && info.Mode().IsRegular() && !os.SameFile(first, info) {
			l.warnings.add(Warning{File: other, Message: fmt.Sprintf("%s has no effect, because %s comes first", other, file)})
		}
	}
}

type repeatedKey struct {
	at    path
	first int
}

// parseFile returns the settings in a file. `named` maps the path of each key, for example "historian.model", to its
// line. `repeated` lists the keys that occur more than once. The last value of a repeated key counts, but repeated
// objects are merged, for example two blocks "memory".
func (l *loader) parseFile(project, file string) (settings object, named map[string]int, repeated []repeatedKey, err error) {
	var data []byte
	switch {
	case l.isEdited(project, file):
		data = bytes.Clone(l.edit.After) // Standardize overwrites comments
	case project == "":
		data, err = regular.Read(file, maxFileBytes)
	default:
		data, err = readOfProject(project, file)
	}
	if err != nil {
		return nil, nil, nil, withoutPath(err)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil, nil, nil
	}
	document, err := jsonc.Parse(data)
	if err != nil {
		return nil, nil, nil, err
	}
	lines := jsonc.Lines(data, document)
	document.Standardize()
	jsonc.BoundNumbers(&document)
	var tree any
	if err := json.Unmarshal(document.Pack(), &tree); err != nil {
		return nil, nil, nil, err
	}
	settings, ok := tree.(object)
	if !ok {
		return nil, nil, nil, fmt.Errorf("%s where an object belongs", describe(tree))
	}
	named = make(map[string]int, len(lines))
	inRepeated := "" // the beginning of the paths within the newest repeated object
	for _, l := range lines {
		at := path(l.Path).String()
		first, isRepeated := named[at]
		named[at] = l.Line
		if isRepeated && (inRepeated == "" || !strings.HasPrefix(at, inRepeated)) {
			repeated = append(repeated, repeatedKey{at: l.Path, first: first})
			inRepeated = at + "."
		}
	}
	return settings, named, repeated, nil
}

func (l *loader) isEdited(project, file string) bool {
	return project == "" && l.edit != nil && file == l.edit.candidate
}

// readOfProject reads a file of a project, but follows no link out of the project. Otherwise a repository could contain
// a link to a private file, and a warning would quote values from that file.
func readOfProject(project, file string) ([]byte, error) {
	root, err := os.OpenRoot(project)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name, err := filepath.Rel(project, file)
	if err != nil {
		return nil, err
	}
	info, err := root.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("%w; if it lies behind a link, replace the link by a directory", withoutPath(err))
	}
	f, opened, err := regular.Open(root, name, info)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if opened.Size() > maxFileBytes {
		return nil, fmt.Errorf("%w: more than %d KiB", regular.ErrTooLarge, maxFileBytes>>10)
	}
	return io.ReadAll(io.LimitReader(f, opened.Size()))
}

func withoutPath(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
