package install

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

type Place struct {
	Harness *Harness
	// Project is an absolute directory, or "" for the user's own configuration.
	Project string
	// DataDir is the absolute path of a directory with records of installations, and with backups of the files that
	// they changed.
	DataDir string
	Env     func(string) string
}

// The method `directories` returns the directories for the harness's configuration, the preferred one first.
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

// expandHome replaces a leading ~ with the home directory, as the harnesses do.
func (p Place) expandHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && rest[0] != '/' || p.home() == "" {
		return path
	}
	return filepath.Join(p.home(), rest)
}

// The method `target` returns the first existing configuration in the place's directories, or a new one in the first
// directory.
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

// The method `configurations` returns the configuration files of a directory. The harness reads all of them, and merges
// each file over the previous one.
func (p Place) configurations(dir string) (files []string) {
	for _, name := range p.Harness.files {
		files = append(files, filepath.Join(dir, name))
	}
	return files
}
