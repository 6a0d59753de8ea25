package file

import (
	"errors"
	"fmt"
	"os/user"
	"path/filepath"
	"strings"
)

// DefaultDir returns the directory of the database for an environment. It is the first of these directories whose
// variable is set:
//
//	$MAGIC_CONTEXT_DATA_DIR
//	$XDG_DATA_HOME/cortexkit/magic-context
//	~/.local/share/cortexkit/magic-context
//
// If the environment names no home directory, the result is empty.
func DefaultDir(env func(string) string) string {
	if dir := env("MAGIC_CONTEXT_DATA_DIR"); dir != "" {
		return dir
	}
	// The XDG base directory specification forbids relative paths.
	if data := env("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return belowData(data)
	}
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if home := env(name); home != "" {
			return belowHome(home)
		}
	}
	return ""
}

func belowData(data string) string { return filepath.Join(data, "cortexkit", "magic-context") }
func belowHome(home string) string { return belowData(filepath.Join(home, ".local", "share")) }

var errRealDatabase = errors.New("a test must not open the database of the person who runs it")

// refuseReal fails if dir holds the real database of the user, because a test could migrate a developer's live
// database. It compares dir with the default directory for the environment, for the environment without its overrides,
// and for the account's home directory. A directory below temporary always belongs to the test.
func refuseReal(dir, temporary string, env func(string) string) error {
	places := []string{DefaultDir(env)}
	for _, hidden := range []string{"MAGIC_CONTEXT_DATA_DIR", "XDG_DATA_HOME"} {
		env = without(env, hidden)
		places = append(places, DefaultDir(env))
	}
	if account, err := user.Current(); err == nil && account.HomeDir != "" {
		places = append(places, belowHome(account.HomeDir))
	}
	dir = resolve(dir)
	for _, place := range places {
		if place == "" || resolve(place) != dir || isBelow(dir, resolve(temporary)) {
			continue
		}
		return fmt.Errorf("open %s: %w", dir, errRealDatabase)
	}
	return nil
}

func without(env func(string) string, hidden string) func(string) string {
	return func(name string) string {
		if name == hidden {
			return ""
		}
		return env(name)
	}
}

// resolve resolves the symbolic links in a path. The last elements of the path need not exist.
func resolve(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolve(parent), filepath.Base(path))
}

func isBelow(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
