package install

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// A Place selects a configuration: a project's or the user's.
type Place struct {
	// Project is the directory of the project, absolute. Empty means the user's own configuration.
	Project string
	// DataDir is the absolute directory of the host's state. Records of installations and their backups
	// lie in it.
	DataDir string
	// Env looks up environment variables.
	Env func(string) string
}

var errNoHome = errors.New("no configuration directory: neither OPENCODE_CONFIG_DIR, XDG_CONFIG_HOME nor HOME is set")

// directories returns the configuration directories of the place, first choice first.
func (p Place) directories() ([]string, error) {
	if p.Project != "" {
		return []string{p.Project, filepath.Join(p.Project, ".opencode")}, nil
	}
	for _, dir := range []string{p.extraDirectory(), p.userDirectory()} {
		if dir != "" {
			return []string{dir}, nil
		}
	}
	return nil, errNoHome
}

// extraDirectory returns the directory in OPENCODE_CONFIG_DIR, empty if it is not set.
func (p Place) extraDirectory() string {
	dir := p.Env("OPENCODE_CONFIG_DIR")
	if dir == "" {
		return ""
	}
	if absolute, err := filepath.Abs(dir); err == nil {
		return absolute
	}
	return dir
}

// userDirectory returns OpenCode's directory below ~/.config, empty if there is no home.
func (p Place) userDirectory() string {
	config := p.Env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) { // the XDG specification says to ignore relative paths
		home := cmp.Or(p.Env("HOME"), p.Env("USERPROFILE"))
		if home == "" {
			return ""
		}
		config = filepath.Join(home, ".config")
	}
	return filepath.Join(config, "opencode")
}

// target returns the configuration file to edit: the first that exists in the directories of the place,
// else a new one in the first directory.
func (p Place) target() (file string, err error) {
	dirs, err := p.directories()
	if err != nil {
		return "", err
	}
	for _, dir := range dirs {
		for _, file := range slices.Backward(configurations(dir)) {
			_, err := os.Lstat(file)
			if err == nil {
				return file, nil
			}
			if !errors.Is(err, os.ErrNotExist) {
				return "", fmt.Errorf("look for the configuration: %w", err)
			}
		}
	}
	return filepath.Join(dirs[0], "opencode.json"), nil
}

// inForce returns the files that OpenCode merges, each over the ones before it (measured with OpenCode
// 1.18), and the directories in which OpenCode and its plugins look for more. For the user's own
// configuration, projects do not count.
func (p Place) inForce() (files, dirs []string) {
	if dir := p.userDirectory(); dir != "" {
		files, dirs = configurations(dir), append(dirs, dir)
	}
	if file := p.Env("OPENCODE_CONFIG"); file != "" {
		files = append(files, file)
	}
	if p.Project != "" {
		for _, dir := range []string{p.Project, filepath.Join(p.Project, ".opencode")} {
			files, dirs = append(files, configurations(dir)...), append(dirs, dir)
		}
	}
	if dir := p.extraDirectory(); dir != "" && !slices.Contains(dirs, dir) {
		files, dirs = append(files, configurations(dir)...), append(dirs, dir)
	}
	return files, dirs
}

// configurations returns the possible names of a configuration in dir. OpenCode merges the second over
// the first.
func configurations(dir string) []string {
	return []string{filepath.Join(dir, "opencode.json"), filepath.Join(dir, "opencode.jsonc")}
}
