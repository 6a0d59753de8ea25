package install

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/magicctx/magicctx-host/internal/jsonc"
	"github.com/magicctx/magicctx-host/schema"
)

// OpenCode's own compaction would summarise history that this program manages. A plugin cannot prevent the
// compaction, so an installation switches it off in the configuration.
//
// Both versions read the list "plugin" and the switch compaction.auto, and load a directory with an index.js (tested
// with 1.18.33 and a beta of version 2; the source of 2.0.26 was only read). Version 2 also reads the list "plugins".
// Except for its betas, it cannot load a plugin from a single file.
var OpenCode = &Harness{
	ID: schema.HarnessOpenCode, Name: "OpenCode", Programs: []string{"opencode", "opencode2"}, RestartNote: " (version 2: opencode service restart)", List: "plugin", Package: "@magicctx/opencode",

	files: []string{"opencode.json", "opencode.jsonc"},
	// OpenCode adds a missing "$schema" to a file.
	newFile: "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}\n",

	// If OpenCode has no list of plugins for its screen yet, the installation creates it in tui.jsonc, because a new
	// tui.json would cause two problems. OpenCode 1 moves its screen settings from opencode.json to tui.json, but only
	// if that file does not exist yet. OpenCode 2 takes over the plugins in tui.json, but cannot load a plugin from a
	// single file.
	panelFiles: []string{"tui.jsonc", "tui.json"}, newPanelFile: "{\n  \"$schema\": \"https://opencode.ai/tui.json\"\n}\n",

	variable: "OPENCODE_CONFIG", panelVariable: "OPENCODE_TUI_CONFIG",
	userDirectories:    openCodeUserDirectories,
	noUserDirectory:    errors.New("no configuration directory: neither OPENCODE_CONFIG_DIR, XDG_CONFIG_HOME nor HOME is set"),
	projectDirectories: openCodeProjectDirectories,
	inForce:            openCodeInForce,

	specOf: openCodeSpecOf, nameOf: openCodeNameOf, isPath: openCodeIsPath,
	npmSpec: func(name string) string { return name },

	// "auto" is on by default. "prune" rewrites old tool outputs, which changes the cached prefix.
	compactionSwitch: "auto", switchesOff: []string{"auto", "prune"},

	moreLists:            []string{"plugins"},
	discoveryDirectories: []string{"plugin", "plugins"},
	pluginConflicts:      orchestratorConflicts,
	shimDirectory:        "opencode-shim", projectDirectory: ".opencode", loadsDirectories: true,
}

func openCodeUserDirectories(p Place) (dirs []string) {
	for _, dir := range []string{p.directoryIn("OPENCODE_CONFIG_DIR"), openCodeDirectory(p)} {
		if dir != "" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func openCodeDirectory(p Place) string {
	config := p.Env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) { // the XDG specification says to ignore relative paths
		if config = p.home(); config == "" {
			return ""
		}
		config = filepath.Join(config, ".config")
	}
	return filepath.Join(config, "opencode")
}

func openCodeProjectDirectories(project string) []string {
	return []string{project, filepath.Join(project, ".opencode")}
}

// openCodeInForce lists the configuration files and the directories that OpenCode reads, in the order in which it reads
// them. We know this order from tests with OpenCode 1.18. If p.Project is empty, the files of projects are left out.
func openCodeInForce(p Place) (files, dirs []string) {
	if dir := openCodeDirectory(p); dir != "" {
		files, dirs = p.configurations(dir), append(dirs, dir)
	}
	if file := p.Env(p.Harness.variable); file != "" {
		files = append(files, file)
	}
	if p.Project != "" {
		for _, dir := range openCodeProjectDirectories(p.Project) {
			files, dirs = append(files, p.configurations(dir)...), append(dirs, dir)
		}
	}
	if dir := p.directoryIn("OPENCODE_CONFIG_DIR"); dir != "" && !slices.Contains(dirs, dir) {
		files, dirs = append(files, p.configurations(dir)...), append(dirs, dir)
	}
	return files, dirs
}

// openCodeSpecOf returns the spec of an entry. An entry is the spec itself, a list [spec, options], or, in "plugins",
// an object {"package": spec, "options": options}.
func openCodeSpecOf(entry *hujson.ArrayElement) *hujson.Value {
	switch value := entry.Value.(type) {
	case *hujson.Array:
		if len(value.Elements) == 0 {
			return nil
		}
		return &value.Elements[0]
	case *hujson.Object:
		if m := jsonc.Member(value, "package"); m != nil {
			return &m.Value
		}
		return nil
	}
	return entry
}

// For "@magicctx/opencode@1.2.3", openCodeNameOf returns "@magicctx/opencode". For paths and URLs, ok is false.
func openCodeNameOf(spec string) (string, bool) {
	if openCodeIsPath(spec) || strings.Contains(spec, "://") {
		return "", false
	}
	return withoutVersion(spec), true
}

func openCodeIsPath(spec string) bool {
	return strings.HasPrefix(spec, ".") || strings.HasPrefix(spec, "/") || strings.HasPrefix(spec, "file:") ||
		strings.HasPrefix(spec, `\`) || drive.MatchString(spec)
}

var (
	orchestrators = []string{"oh-my-opencode", "oh-my-openagent"}
	// orchestratorHooks compact a session, or warn about its size.
	orchestratorHooks = []string{"preemptive-compaction", "context-window-monitor", "anthropic-context-window-limit-recovery"}
)

func orchestratorConflicts(p Place, where, name string, dirs []string) (found []Conflict) {
	if !slices.Contains(orchestrators, name) {
		return nil
	}
	var disabled []string
	configuration := filepath.Join(dirs[0], name+".json")
	for _, dir := range dirs {
		for _, base := range orchestrators {
			for _, suffix := range []string{".jsonc", ".json"} {
				d, err := p.readDocument(filepath.Join(dir, base+suffix))
				if err != nil {
					continue
				}
				configuration = d.File
				disabled = append(disabled, listOf(d.Document, "disabled_hooks")...)
			}
		}
	}
	for _, hook := range orchestratorHooks {
		if !slices.Contains(disabled, hook) {
			found = append(found, Conflict{
				Where:   where,
				Problem: fmt.Sprintf("the hook %s of %s acts on the size of the session, too", hook, name),
				Remedy:  fmt.Sprintf("add %q to \"disabled_hooks\" in %s", hook, configuration),
			})
		}
	}
	return found
}

func listOf(d *jsonc.Document, key string) (list []string) {
	m := jsonc.Member(d.Root, key)
	if m == nil {
		return nil
	}
	array, ok := m.Value.Value.(*hujson.Array)
	if !ok {
		return nil
	}
	for _, e := range array.Elements {
		if s, ok := jsonc.Text(e); ok {
			list = append(list, s)
		}
	}
	return list
}

func (p Place) home() string { return cmp.Or(p.Env("HOME"), p.Env("USERPROFILE")) }
