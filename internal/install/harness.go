package install

import (
	"errors"

	"github.com/tailscale/hujson"

	"github.com/magicctx/magicctx-host/schema"
)

// A Harness holds the facts about one harness that an installation needs: where its configuration is, how
// the configuration lists a plugin, and which plugins conflict with ours. All other code in this package is
// the same for all harnesses.
type Harness struct {
	ID schema.Harness
	// Name is the name for people, for example "OpenCode". Programs are the names under which the program may be
	// on the PATH, the usual one first.
	Name     string
	Programs []string
	// RestartNote says how to restart the harness if it runs without a window, as a remark in brackets.
	RestartNote string
	// List is the key of the list of plugins in a configuration.
	List string
	// Package is the npm package of our plugin.
	Package string

	// files are the possible names of a configuration in one directory. The harness merges each file over
	// the one before it.
	files []string
	// newFile is the first content of a new configuration.
	newFile string
	// panelFiles and newPanelFile are like files and newFile, but for the list from which the harness's screen loads
	// the panel. They are empty if the harness loads the panel together with the plugin.
	panelFiles   []string
	newPanelFile string
	// isStrict means that the harness ignores a whole configuration with a comment or a trailing comma.
	isStrict bool

	// userDirectories returns the possible directories of the user's configuration, the preferred one
	// first.
	userDirectories func(Place) []string
	// noUserDirectory is the error if userDirectories returns none.
	noUserDirectory error
	// variable names an environment variable with the path of one more configuration. panelVariable is the same for the
	// list of the screen.
	variable, panelVariable string
	// projectDirectories returns the possible directories of a project's configuration.
	projectDirectories func(project string) []string
	// inForce returns the configurations that apply at a place, each of them merged over the ones before
	// it. It also returns the directories in which the harness and its plugins look for more files.
	inForce func(Place) (files, dirs []string)

	// specOf returns the value that names the plugin in an entry of the list, nil if the entry has none.
	specOf func(entry *hujson.ArrayElement) *hujson.Value
	// nameOf returns the npm package or the repository in a spec. It returns false for a path.
	nameOf func(spec string) (name string, ok bool)
	// isPath reports whether a spec is a path or a file URL.
	isPath func(spec string) bool
	// npmSpec returns the spec of an npm package.
	npmSpec func(name string) string

	// compactionSwitch is the key, in "compaction", that switches the harness's own compaction off.
	// switchesOff are the keys in "compaction" that an installation sets to false. There are none if the
	// plugin can prevent compactions while it works.
	compactionSwitch string
	switchesOff      []string

	// moreLists are further lists from which the harness loads plugins. An installation only reads them.
	moreLists []string
	// discoveryDirectories are below the directories of inForce. The harness loads the scripts in them
	// without an entry in a configuration. If discoversFolders is set, it also loads the folders in them
	// that hold a script.
	discoveryDirectories []string
	discoversFolders     bool
	// pluginConflicts finds conflicts with a plugin that does not count as a competitor. It may be nil.
	pluginConflicts func(p Place, where, name string, dirs []string) []Conflict

	// shimDirectory is the name of our plugin's directory. For a user, it is in the data directory. For a
	// project, it is in projectDirectory. If loadsDirectories is set, an installation lists the directory;
	// otherwise it lists the file in it.
	shimDirectory, projectDirectory string
	loadsDirectories                bool
	// projectNote is a sentence that an installation for a project shows, empty for none.
	projectNote string
}

// Harnesses are all harnesses that an installation knows.
var Harnesses = []*Harness{OpenCode, Pi}

// IDs returns the ids of all harnesses that an installation knows.
func IDs() (ids []schema.Harness) {
	for _, h := range Harnesses {
		ids = append(ids, h.ID)
	}
	return ids
}

// HarnessOf returns the harness with an id, nil if there is none.
func HarnessOf(id schema.Harness) *Harness {
	for _, h := range Harnesses {
		if h.ID == id {
			return h
		}
	}
	return nil
}

// HoldsCompactionBack reports whether the plugin prevents the harness's own compaction while the plugin
// works. If so, an installation leaves the setting alone.
func (h *Harness) HoldsCompactionBack() bool { return len(h.switchesOff) == 0 }

var errNoHarness = errors.New("no harness is named")
