package install

import (
	"errors"
	"path"
	"path/filepath"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/magicctx/magicctx-host/internal/jsonc"
	"github.com/magicctx/magicctx-host/schema"
)

// Pi loads an entry in "packages" after all other extensions of the user. So our plugin sees the messages after the
// others have changed them. Entries in "extensions", and files in <agent directory>/extensions, are loaded earlier
// (seen with Pi 0.74 and 0.87). `pi list` shows the entry, `pi remove` with its path removes it, and Pi ignores a
// missing path.
//
// While our plugin works, it cancels Pi's compactions. So an installation does not change Pi's setting for compactions.
var Pi = &Harness{
	ID: schema.HarnessPi, Name: "Pi", Programs: []string{"pi"}, List: "packages", Package: "@magicctx/pi",

	files: []string{"settings.json"}, newFile: "{}\n", isStrict: true,

	userDirectories:    piUserDirectories,
	noUserDirectory:    errors.New("no agent directory: neither PI_CODING_AGENT_DIR nor HOME is set"),
	projectDirectories: func(project string) []string { return []string{filepath.Join(project, ".pi")} },
	inForce:            piInForce,

	specOf: piSpecOf, nameOf: piNameOf, isPath: piIsPath,
	npmSpec: func(name string) string { return "npm:" + strings.TrimPrefix(name, "npm:") },

	compactionSwitch: "enabled",

	moreLists: []string{"extensions"}, discoveryDirectories: []string{"extensions"}, discoversFolders: true,
	shimDirectory: "pi-shim", projectDirectory: ".pi",
	projectNote: "Pi 0.87 and newer load what a project brings along only if you trust the project: answer its question, use /trust, or start it with --approve. Without a terminal (print, json and rpc mode) there is no question. Installed for all projects, the plugin needs no trust.",
}

func piUserDirectories(p Place) []string {
	if dir := p.directoryIn("PI_CODING_AGENT_DIR"); dir != "" {
		return []string{dir}
	}
	if p.home() == "" {
		return nil
	}
	return []string{filepath.Join(p.home(), ".pi", "agent")}
}

// Pi loads the packages that the user's file lists, and those that the project's file lists.
func piInForce(p Place) (files, dirs []string) {
	dirs = piUserDirectories(p)
	if p.Project != "" {
		dirs = append(dirs, filepath.Join(p.Project, ".pi"))
	}
	for _, dir := range dirs {
		files = append(files, p.configurations(dir)...)
	}
	return files, dirs
}

// piSpecOf returns the spec of an entry. An entry is either the spec itself, or an object with the spec as "source",
// and with filters.
func piSpecOf(entry *hujson.ArrayElement) *hujson.Value {
	filtered, ok := entry.Value.(*hujson.Object)
	if !ok {
		return entry
	}
	if m := jsonc.Member(filtered, "source"); m != nil {
		return &m.Value
	}
	return nil
}

// If a spec has none of these beginnings, Pi reads it as a path.
var piRemote = []string{"npm:", "git:", "github:", "http:", "https:", "ssh:", "builtin:"}

func piIsPath(spec string) bool {
	for _, prefix := range piRemote {
		if strings.HasPrefix(strings.TrimSpace(spec), prefix) {
			return false
		}
	}
	return true
}

func piNameOf(spec string) (string, bool) {
	if piIsPath(spec) {
		return "", false
	}
	spec = strings.TrimSpace(spec)
	if name, ok := strings.CutPrefix(spec, "npm:"); ok {
		return withoutVersion(name), true
	}
	name := path.Base(strings.TrimRight(spec, "/"))
	name, _, _ = strings.Cut(name, "@")
	return strings.TrimSuffix(name, ".git"), true
}
