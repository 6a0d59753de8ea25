package install

import (
	"errors"

	"github.com/tailscale/hujson"

	"github.com/magicctx/magicctx-host/schema"
)

// A Harness holds all differences between harnesses that an installation needs.
type Harness struct {
	ID schema.Harness
	// Name is for people, for example "OpenCode". Programs are names on the PATH, the usual one first.
	Name     string
	Programs []string
	// RestartNote says, in brackets, how to restart the harness if it runs without a window.
	RestartNote string
	// List is the key of the list of plugins.
	List    string
	Package string

	// The harness reads these files of a directory in this order. A later file overrides an earlier one.
	files []string
	// newFile is the first content of a new configuration.
	newFile string
	// panelFiles and newPanelFile are like files and newFile, for the list from which the harness's screen loads the
	// panel. If the harness loads the panel together with the plugin, both are empty.
	panelFiles   []string
	newPanelFile string
	// isStrict means that the harness ignores a whole configuration with a comment or a trailing comma.
	isStrict bool

	// The preferred directory is first.
	userDirectories func(Place) []string
	noUserDirectory error
	// variable names an environment variable with the path of one more configuration, and panelVariable one with the
	// path of the screen's configuration.
	variable, panelVariable string
	projectDirectories      func(project string) []string
	// inForce returns the configurations at a place, in the order in which the harness merges them. dirs are
	// directories in which the harness and its plugins look for more files.
	inForce func(Place) (files, dirs []string)

	// specOf returns the value that names the plugin in an entry, or nil.
	specOf func(entry *hujson.ArrayElement) *hujson.Value
	// nameOf returns the npm package or the repository in a spec, and false for a path.
	nameOf  func(spec string) (name string, ok bool)
	isPath  func(spec string) bool
	npmSpec func(name string) string

	// In "compaction", the key compactionSwitch switches the harness's own compaction off. An installation sets the
	// keys in switchesOff to false. If the plugin can prevent compactions, switchesOff is empty.
	compactionSwitch string
	switchesOff      []string

	// The harness also loads plugins from moreLists. An installation only reads them.
	moreLists []string
	// The harness loads scripts in discoveryDirectories, below the directories of inForce, without an entry. If
	// discoversFolders is true, the harness also loads folders with a script in them.
	discoveryDirectories []string
	discoversFolders     bool
	// pluginConflicts finds conflicts with plugins that are no competitors, and may be nil.
	pluginConflicts func(p Place, where, name string, dirs []string) []Conflict

	// shimDirectory is the name of our plugin's directory, in the data directory or in a project's projectDirectory.
	// If loadsDirectories is true, an installation lists the directory, otherwise the file in it.
	shimDirectory, projectDirectory string
	loadsDirectories                bool
	// An installation for a project shows projectNote, which may be "".
	projectNote string
}

var Harnesses = []*Harness{OpenCode, Pi}

func IDs() (ids []schema.Harness) {
	for _, h := range Harnesses {
		ids = append(ids, h.ID)
	}
	return ids
}

func HarnessOf(id schema.Harness) *Harness {
	for _, h := range Harnesses {
		if h.ID == id {
			return h
		}
	}
	return nil
}

// If the plugin prevents the harness's own compaction while it works, an installation leaves the setting alone.
func (h *Harness) HoldsCompactionBack() bool { return len(h.switchesOff) == 0 }

var errNoHarness = errors.New("no harness is named")
