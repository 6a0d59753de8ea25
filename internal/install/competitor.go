package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
)

// A competitor is a plugin that rewrites the same messages. With two of them in one session, each pass of
// one destroys the prefix that the other has cached.
type competitor struct {
	// is tells by the name of a package.
	is func(name string) bool
	// file matches the name of a plugin's file or directory.
	file *regexp.Regexp
	// mention is a text that such a copy contains, whatever its path is.
	mention string
	// problem is a sentence about the plugin %s.
	problem string
}

var competitors = []competitor{
	{
		is:      func(name string) bool { return strings.Contains(name, "magic-context") },
		file:    regexp.MustCompile(`magic-context.*\.[cm]?[jt]s$`),
		mention: "@cortexkit/opencode-magic-context",
		problem: "the TypeScript plugin %s does the same work",
	},
	{
		is:      func(name string) bool { return name == "@tarquinen/opencode-dcp" },
		file:    regexp.MustCompile(`(?i)(^|[._-])(dcp|dynamic-context-pruning)([._-]|$)`),
		mention: "@tarquinen/opencode-dcp",
		problem: "the plugin %s prunes the same messages",
	},
}

// maxMention bounds how much of a plugin's code is searched for the name of a competitor.
const maxMention = 4 << 20

// competitorOf returns the competitor that a spec in a configuration file loads, nil if it loads none.
func competitorOf(ctx context.Context, file, spec string) (*competitor, error) {
	name, isNamed, err := pluginName(ctx, file, spec)
	if err != nil {
		return nil, err
	}
	path := ""
	if isPath(spec) {
		path = pathOf(file, spec)
	}
	for i, c := range competitors {
		if c.is(name) || path != "" && c.matches(path, isNamed) {
			return &competitors[i], nil
		}
	}
	return nil, nil
}

// namedDirectories is how many directories above a plugin may carry a competitor's name, as in
// opencode-dcp/dist/index.js. Beyond them the name is that of a project or a person.
const namedDirectories = 2

// matches examines a plugin file or directory. If another package's package.json was found above it,
// hasPackage is true, and only the plugin's own name counts: a plugin may mention another one, and a
// project may have any name.
func (c competitor) matches(path string, hasPackage bool) bool {
	info, err := os.Stat(path)
	if err != nil { // OpenCode cannot load it either
		return false
	}
	if c.file.MatchString(filepath.Base(path)) {
		return true
	}
	if hasPackage {
		return false
	}
	for dir, n := filepath.Dir(path), 0; n < namedDirectories; dir, n = filepath.Dir(dir), n+1 {
		if c.file.MatchString(filepath.Base(dir)) {
			return true
		}
	}
	return info.Mode().IsRegular() && mentions(path, c.mention)
}

// mentions reports whether the code of a plugin names a package: it loads that package, or is a copy of it.
func mentions(path, name string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	code, err := io.ReadAll(io.LimitReader(file, maxMention))
	return err == nil && bytes.Contains(code, []byte(name))
}

// maxAbove bounds the directories above a plugin that are searched for its package.json.
const maxAbove = 32

// pluginName returns the name by which a plugin is known. If spec is a path, that is the name in its
// package.json. If there is no such name, it is the path, and isNamed is false.
func pluginName(ctx context.Context, file, spec string) (name string, isNamed bool, err error) {
	if name, ok := packageName(spec); ok {
		return name, true, nil
	}
	if !isPath(spec) {
		return spec, true, nil
	}
	path := pathOf(file, spec)
	dir := path
	for range maxAbove {
		if ctx.Err() != nil {
			return "", false, fmt.Errorf("look for the name of a plugin in %s: %w", file, context.Cause(ctx))
		}
		content, err := readFile(filepath.Join(dir, "package.json"))
		var manifest struct {
			Name string `json:"name"`
		}
		if err == nil && json.Unmarshal(content, &manifest) == nil && manifest.Name != "" {
			return manifest.Name, true, nil
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return path, false, nil
}

var script = regexp.MustCompile(`\.[tj]s$`)

// discoveredConflicts finds competitors that OpenCode discovers in its plugin directories, without an
// entry in a configuration.
func discoveredConflicts(dirs []string) (found []Conflict) {
	for _, dir := range dirs {
		for _, sub := range []string{"plugin", "plugins"} {
			entries, err := os.ReadDir(filepath.Join(dir, sub))
			if err != nil {
				continue
			}
			for _, e := range entries[:min(len(entries), maxPlugins)] {
				path := filepath.Join(dir, sub, e.Name())
				if !script.MatchString(e.Name()) {
					continue
				}
				// The path within the directory counts: the project may have any name.
				if c := discovered(path, e.Name()); c != nil {
					found = append(found, Conflict{
						Where:   path,
						Problem: fmt.Sprintf(c.problem, e.Name()) + "; OpenCode loads it from here",
						Remedy:  "move this file out of the directory",
					})
				}
			}
		}
	}
	return found
}

// discovered returns the competitor in a plugin directory, nil if the file is none. A file may be a link
// to a checkout, and may have any name.
func discovered(path, name string) *competitor {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	for i, c := range competitors {
		if c.file.MatchString(name) || mentions(path, c.mention) || isLink(path) && c.matches(pathOf("", path), false) {
			return &competitors[i]
		}
	}
	return nil
}

// Conflicts finds everything that cannot work beside magicctx in the configurations that apply at the
// place. It is the one list of conflicts: an installation, doctor and a running host go by it.
func Conflicts(ctx context.Context, p Place) ([]Conflict, error) {
	target, err := p.target()
	if err != nil {
		return nil, err
	}
	d, err := readDocument(target)
	if errors.Is(err, os.ErrNotExist) {
		d, err = parseDocument(target, []byte(newFile))
	}
	if err != nil {
		return nil, err
	}
	return findConflicts(ctx, p, d)
}

// ConflictsAt finds the conflicts at several places, and lists each of them once.
func ConflictsAt(ctx context.Context, places ...Place) (all []Conflict, err error) {
	for _, p := range places {
		found, err := Conflicts(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return all, nil
}
