package install

import (
	"errors"

	"github.com/tailscale/hujson"

	"github.com/magicctx/magicctx-host/schema"
)

// A Harness holds all differences between harnesses that an installation needs.
type Harness struct {
	ID schema.Harness
	// Name is shown to people, for example "OpenCode". Programs lists the names that the harness's program may have on
	// the PATH, the usual one first.
	Name     string
	Programs []string
	// RestartNote is a remark in brackets. It says how to restart the harness if it runs without a window.
	RestartNote string
	// List is the key of the configuration's list of plugins, for example "packages" in Pi.
	List    string
	Package string

	// The harness reads these files of a directory in this order. A later file overrides an earlier one.
	files []string
	// newFile is the content with which an installation creates a configuration file.
	newFile string
	// The panel is the part of magicctx on the harness's screen. The screen may have a configuration file of its own
	// with a list of plugins. panelFiles and newPanelFile describe this file in the same way as files and newFile
	// describe the main configuration. If the harness loads the panel together with the plugin, both are empty.
	panelFiles   []string
	newPanelFile string
	// isStrict means that the harness ignores the whole configuration file if it contains a comment or a trailing
	// comma.
	isStrict bool

	// userDirectories returns the directories that may contain the user's own configuration, the preferred one first.
	userDirectories func(Place) []string
	noUserDirectory error
	// variable is the environment variable that names one more configuration file, for example OPENCODE_CONFIG.
	// panelVariable is the same for the screen's configuration file.
	variable, panelVariable string
	projectDirectories      func(project string) []string
	// inForce returns the configuration files that apply at a place, in the order in which the harness merges them.
	// dirs are the directories in which the harness and its plugins look for more files.
	inForce func(Place) (files, dirs []string)

	// specOf returns the value that names the plugin in an entry, or nil.
	specOf func(entry *hujson.ArrayElement) *hujson.Value
	// nameOf returns the npm package or the repository in a spec, and false for a path.
	nameOf  func(spec string) (name string, ok bool)
	isPath  func(spec string) bool
	npmSpec func(name string) string

	// compactionSwitch is the key below "compaction" that switches the harness's own compaction on and off, for example
	// "auto". switchesOff lists the keys that an installation sets to false. If the plugin itself can prevent
	// compactions, switchesOff is empty.
	compactionSwitch string
	switchesOff      []string

	// moreLists are the keys of more lists from which the harness loads plugins. An installation reads these lists, but
	// does not change them.
	moreLists []string
	// The harness loads every script in these directories, even if no configuration lists it. Their paths are relative
	// to each of the dirs that inForce returns. If discoversFolders is true, the harness also loads folders that
	// contain a script.
	discoveryDirectories []string
	discoversFolders     bool
	// pluginConflicts finds plugins that have another purpose than magicctx, but cannot work together with it. It may
	// be nil.
	pluginConflicts func(p Place, where, name string, dirs []string) []Conflict

	// shimDirectory is the name of our plugin's directory. An installation for all projects creates this directory in
	// the data directory. An installation for a single project creates it in the project's projectDirectory. If
	// loadsDirectories is true, an installation lists this directory in the configuration. Otherwise, it lists the file
	// in the directory.
	shimDirectory, projectDirectory string
	loadsDirectories                bool
	// projectNote is shown together with the plan of an installation for a single project. It may be "".
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

// HoldsCompactionBack reports whether the plugin itself prevents compactions by the harness. If it does, an
// installation does not change the harness's setting for compactions.
func (h *Harness) HoldsCompactionBack() bool { return len(h.switchesOff) == 0 }

var errNoHarness = errors.New("no harness is named")
