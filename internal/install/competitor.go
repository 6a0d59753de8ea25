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

// A competitor is a plugin that rewrites the same messages. If two such plugins work on one session, each of them
// destroys the prefix that the other one has cached.
type competitor struct {
	// is reports whether the package with this name is the competitor.
	is func(name string) bool
	// file matches the name of a plugin's file or directory.
	file *regexp.Regexp
	// mentions are texts. Every copy of the competitor contains at least one of them, even if its path has
	// another name.
	mentions []string
	// problem is a sentence about the plugin %s.
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

// piPruner matches the names under which the pruning plugin is packaged for Pi.
var piPruner = regexp.MustCompile(`(^|/)pi-(dcp|dynamic-context-pruning)$`)

// maxMention bounds how much of a plugin's code is searched for the name of a competitor.
const maxMention = 4 << 20

// competitorOf returns the competitor that a spec in a configuration file loads, nil if it loads none.
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

// namedDirectories is how many directories above a plugin may carry a competitor's name, as in
// opencode-dcp/dist/index.js. A directory further up is named after a project or a person.
const namedDirectories = 2

// matches examines a plugin file or directory. If another package's package.json was found above it,
// hasPackage is true. Then only the plugin's own name counts, because a plugin may mention another
// one, and a project may have any name.
func (c competitor) matches(path string, hasPackage bool) bool {
	if _, err := os.Stat(path); err != nil { // the harness cannot load such a plugin either
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

// isMentioned reports whether a plugin's code contains a text of the competitor. It does if the plugin loads the
// competitor's package or is a copy of it.
func (c competitor) isMentioned(path string) bool {
	code, err := regular.Prefix(path, maxMention)
	return err == nil && slices.ContainsFunc(c.mentions, func(name string) bool { return bytes.Contains(code, []byte(name)) })
}

// maxAbove bounds the directories above a plugin that are searched for its package.json.
const maxAbove = 32

// pluginName returns the name by which a plugin is known. If spec is a path, that is the name in the plugin's
// package.json. If the package.json has no name, pluginName returns the path, and isNamed is false.
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

// packageNamed returns the name in a directory's package.json, empty if it has none.
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

// discoveredConflicts finds competitors that the harness discovers in its plugin directories, without an
// entry in a configuration.
func (p Place) discoveredConflicts(dirs []string) (found []Conflict) {
	for _, dir := range dirs {
		for _, sub := range p.Harness.discoveryDirectories {
			entries, err := os.ReadDir(filepath.Join(dir, sub))
			if err != nil {
				continue
			}
			for _, e := range entries[:min(len(entries), maxPlugins)] {
				path := filepath.Join(dir, sub, e.Name())
				// Only the path within the directory counts, because the project may have any name.
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

// discovered returns the competitor that an entry of a plugin directory loads. If the entry loads none, it
// returns nil. The entry may be a link to a checkout, and may have any name.
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

// discoveredFolder returns the competitor in a folder that the harness loads as one plugin.
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

// Conflicts finds everything that cannot work beside magicctx in the configurations that apply at the place.
// Installations, doctor and a running host all use this list of conflicts.
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
