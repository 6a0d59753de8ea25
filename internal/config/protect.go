package config

import (
	"path/filepath"

	"github.com/bmatcuk/doublestar/v4"
)

// MatchesName reports whether a name is one of patterns, in which * and ? stand
// for any characters and any one.
func MatchesName(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, err := doublestar.Match(p, name); err == nil && ok {
			return true
		}
	}
	return false
}

// MatchesPath reports whether a path as a tool got it, usually absolute, is one
// of patterns, either as it stands or relative to directory.
func MatchesPath(patterns []string, directory, path string) bool {
	names := []string{filepath.ToSlash(path)}
	if filepath.IsAbs(path) && directory != "" {
		if rel, err := filepath.Rel(directory, path); err == nil && filepath.IsLocal(rel) {
			names = append(names, filepath.ToSlash(rel))
		}
	}
	for _, name := range names {
		if MatchesName(patterns, name) {
			return true
		}
	}
	return false
}
