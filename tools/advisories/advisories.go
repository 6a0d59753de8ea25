package advisories

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

//go:embed known.txt
var known string

type Weakness struct {
	Module string
	Fixed  string // the first version that does not have the weakness
	Names  string // the ids of the advisories about the weakness
}

func weaknesses(text string) (all []Weakness, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 3 || !semver.IsValid(fields[1]) {
			return nil, fmt.Errorf("known.txt: %q is not a module, a version and an advisory", line)
		}
		all = append(all, Weakness{fields[0], fields[1], strings.Join(fields[2:], " ")})
	}
	return all, nil
}

// The function `of` returns one line for each known weakness of the given modules. `versions` maps each module to its
// version.
func of(versions map[string]string, all []Weakness) (found []string) {
	for _, w := range all {
		version, isUsed := versions[w.Module]
		if isUsed && semver.Compare(version, w.Fixed) < 0 {
			found = append(found, fmt.Sprintf("%s %s: %s, fixed in %s", w.Module, version, w.Names, w.Fixed))
		}
	}
	return found
}

// Modules returns one line for each known weakness of the modules in dir/go.mod. A tidy go.mod contains every module
// that the build uses, with its version.
func Modules(dir string) ([]string, error) {
	path := filepath.Join(dir, "go.mod")
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := modfile.Parse(path, raw, nil)
	if err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for _, r := range file.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	return compare(versions)
}

// Go returns one line for each known weakness of the installed Go.
func Go() ([]string, error) {
	version, err := exec.Command("go", "env", "GOVERSION").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOVERSION: %w", err)
	}
	number, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(version)), "go"), " ")
	return compare(map[string]string{"stdlib": "v" + number})
}

func compare(versions map[string]string) ([]string, error) {
	all, err := weaknesses(known)
	if err != nil {
		return nil, err
	}
	return of(versions, all), nil
}
