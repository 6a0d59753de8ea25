package config

import (
	"path/filepath"

	"github.com/bmatcuk/doublestar/v4"
)

// MatchesName reports whether a name matches one of the patterns. In a pattern, * stands for any number
// of characters and ? for one.
func MatchesName(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, err := doublestar.Match(p, name); err == nil && ok {
			return true
		}
	}
	return false
}

// MatchesPath reports whether a tool's path argument, usually absolute, matches one of the patterns.
// The path may match as it stands or relative to directory.
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
