package install

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Place selects a configuration of a harness: a project's or the user's.
type Place struct {
	Harness *Harness
	// Project is the directory of the project, absolute. Empty means the user's own configuration.
	Project string
	// DataDir is the absolute directory of the host's state. It holds records of installations and
	// their backups.
	DataDir string
	// Env looks up environment variables.
	Env func(string) string
}

// directories returns the configuration directories of the place, first choice first.
func (p Place) directories() ([]string, error) {
	if p.Harness == nil {
		return nil, errNoHarness
	}
	if p.Project != "" {
		return p.Harness.projectDirectories(p.Project), nil
	}
	if dirs := p.Harness.userDirectories(p); len(dirs) > 0 {
		return dirs[:1], nil
	}
	return nil, p.Harness.noUserDirectory
}

// directoryIn returns the directory that an environment variable names, empty if it is not set.
func (p Place) directoryIn(variable string) string {
	dir := p.expandHome(p.Env(variable))
	if dir == "" {
		return ""
	}
	if absolute, err := filepath.Abs(dir); err == nil {
		return absolute
	}
	return dir
}

// expandHome replaces a leading ~, as the harnesses do.
func (p Place) expandHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && rest[0] != '/' || p.home() == "" {
		return path
	}
	return filepath.Join(p.home(), rest)
}

// target returns the configuration file to edit: the first that exists in the directories of the place,
// else a new one in the first directory.
func (p Place) target() (file string, err error) {
	dirs, err := p.directories()
	if err != nil {
		return "", err
	}
	for _, dir := range dirs {
		for _, file := range slices.Backward(p.configurations(dir)) {
			_, err := os.Lstat(file)
			if err == nil {
				return file, nil
			}
			if !errors.Is(err, os.ErrNotExist) {
				return "", fmt.Errorf("look for the configuration: %w", err)
			}
		}
	}
	return filepath.Join(dirs[0], p.Harness.files[0]), nil
}

// configurations returns the possible names of a configuration in dir. The harness merges each over the
// one before it.
func (p Place) configurations(dir string) (files []string) {
	for _, name := range p.Harness.files {
		files = append(files, filepath.Join(dir, name))
	}
	return files
}
