package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/regular"
)

// A competitor is a plugin that rewrites the same messages as magicctx. If both worked, every request would change the
// cached prefix.
type competitor struct {
	is func(name string) bool
	// file matches the name of a plugin's file or directory.
	file *regexp.Regexp
	// mentions are strings that occur in the competitor's code. They identify even a copy of the code that has another
	// name.
	mentions []string
	// problem is a sentence in which %s stands for the name of the plugin.
	problem string
}

var competitors = []competitor{
	{
		is:       func(name string) bool { return strings.Contains(name, "magic-context") },
		file:     regexp.MustCompile(`magic-context.*\.[cm]?[jt]s$`),
		mentions: []string{"@cortexkit/opencode-magic-context", "@cortexkit/pi-magic-context"},
		problem:  "the TypeScript plugin %s does the same work",
	},
	{
		is:       func(name string) bool { return name == "@tarquinen/opencode-dcp" || piPruner.MatchString(name) },
		file:     regexp.MustCompile(`(?i)(^|[._-])(dcp|dynamic-context-pruning)([._-]|$)`),
		mentions: []string{"@tarquinen/opencode-dcp"},
		problem:  "the plugin %s prunes the same messages",
	},
}

var piPruner = regexp.MustCompile(`(^|/)pi-(dcp|dynamic-context-pruning)$`)

const maxMention = 4 << 20

func (p Place) competitorOf(ctx context.Context, file, spec string) (*competitor, error) {
	name, isNamed, err := p.pluginName(ctx, file, spec)
	if err != nil {
		return nil, err
	}
	path := ""
	if p.Harness.isPath(spec) {
		path = p.pathOf(file, spec)
	}
	for i, c := range competitors {
		if c.is(name) || path != "" && c.matches(path, isNamed) {
			return &competitors[i], nil
		}
	}
	return nil, nil
}

// namedDirectories is the number of directories above a plugin's file whose names are compared with the competitor's
// name. Two are enough for opencode-dcp/dist/index.js. Directories further up have the names of projects or people.
const namedDirectories = 2

// matches reports whether the plugin at path is the competitor. hasPackage means that a package.json gives the plugin
// another name. The code of such a plugin may mention the competitor for a harmless reason, so only the name of its
// file is compared.
func (c competitor) matches(path string, hasPackage bool) bool {
	if _, err := os.Stat(path); err != nil { // the harness cannot load a missing plugin
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
	return c.isMentioned(path)
}

// isMentioned reports whether the plugin's code contains one of the competitor's strings. Then the plugin is a copy of
// the competitor, or loads the competitor's package.
func (c competitor) isMentioned(path string) bool {
	code, err := regular.Prefix(path, maxMention)
	return err == nil && slices.ContainsFunc(c.mentions, func(name string) bool { return bytes.Contains(code, []byte(name)) })
}

const maxAbove = 32

// pluginName returns the name of the plugin in a configuration entry. If `spec` is a package, it contains the name. If
// `spec` is a path, the name comes from the nearest package.json. If no package.json has a name, pluginName returns the
// path and isNamed is false.
func (p Place) pluginName(ctx context.Context, file, spec string) (name string, isNamed bool, err error) {
	if name, ok := p.Harness.nameOf(spec); ok {
		return name, true, nil
	}
	if !p.Harness.isPath(spec) {
		return spec, true, nil
	}
	path := p.pathOf(file, spec)
	dir := path
	for range maxAbove {
		if ctx.Err() != nil {
			return "", false, fmt.Errorf("look for the name of a plugin in %s: %w", file, context.Cause(ctx))
		}
		if name := packageNamed(dir); name != "" {
			return name, true, nil
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return path, false, nil
}

func packageNamed(dir string) string {
	content, err := readFile(filepath.Join(dir, "package.json"))
	var manifest struct {
		Name string `json:"name"`
	}
	if err != nil || json.Unmarshal(content, &manifest) != nil {
		return ""
	}
	return manifest.Name
}

var script = regexp.MustCompile(`\.[tj]s$`)

// discoveredConflicts returns the competitors in the harness's plugin directories. The harness loads these plugins even
// without an entry in a configuration.
func (p Place) discoveredConflicts(dirs []string) (found []Conflict) {
	for _, dir := range dirs {
		for _, sub := range p.Harness.discoveryDirectories {
			entries, err := os.ReadDir(filepath.Join(dir, sub))
			if err != nil {
				continue
			}
			for _, e := range entries[:min(len(entries), maxPlugins)] {
				path := filepath.Join(dir, sub, e.Name())
				// The path of the project may contain a competitor's name by chance. So only the entry's own name is
				// compared.
				if c := p.discovered(path, e.Name()); c != nil {
					found = append(found, Conflict{
						Where:   path,
						Problem: fmt.Sprintf(c.problem, e.Name()) + "; " + p.Harness.Name + " loads it from here",
						Remedy:  "move it out of the directory",

						IsCompetitor: true,
					})
				}
			}
		}
	}
	return found
}

// The method `discovered` returns the competitor to which the plugin at path belongs, or nil. path may be a link with
// any name, for example to a checkout.
func (p Place) discovered(path, name string) *competitor {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	if info.IsDir() && p.Harness.discoversFolders {
		return discoveredFolder(path, name)
	}
	if !info.Mode().IsRegular() || !script.MatchString(name) {
		return nil
	}
	for i, c := range competitors {
		if c.file.MatchString(name) || c.isMentioned(path) || isLink(path) && c.matches(p.pathOf("", path), false) {
			return &competitors[i]
		}
	}
	return nil
}

func discoveredFolder(path, name string) *competitor {
	if own := packageNamed(path); own != "" {
		name = own
	}
	for i, c := range competitors {
		if c.is(name) {
			return &competitors[i]
		}
		for _, index := range []string{"index.ts", "index.js"} {
			if c.isMentioned(filepath.Join(path, index)) {
				return &competitors[i]
			}
		}
	}
	return nil
}

// Conflicts returns the settings and plugins at a place that cannot work together with magicctx.
func Conflicts(ctx context.Context, p Place) ([]Conflict, error) {
	target, err := p.target()
	if err != nil {
		return nil, err
	}
	d, err := p.readDocument(target)
	if errors.Is(err, os.ErrNotExist) {
		d, err = p.parseStrictly(target, []byte(p.Harness.newFile))
	}
	if err != nil {
		return nil, err
	}
	return findConflicts(ctx, p, d)
}

// ConflictsAt lists the conflicts at several places, each once.
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
