package checks

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/project"
)

// maxEntries bounds the files that Gone looks at to find files of the same name. maxFound bounds the files that it
// returns for a path.
const (
	maxEntries = 20_000
	maxFound   = 3
)

// Gone returns each of the paths that does not exist in the directory's repository, with files of the same name in
// other places. It reads no file. A text counts as a path only if its name has an extension, or if its first directory
// exists: "and/or" is no path.
func Gone(directory string, paths []string) (map[string][]string, error) {
	root, err := os.OpenRoot(project.Root(directory))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	gone := make(map[string][]string)
	for _, p := range paths {
		clean := path.Clean(p)
		first, _, _ := strings.Cut(clean, "/")
		_, err := root.Lstat(first)
		isPath := err == nil || path.Ext(clean) != ""
		if _, err := root.Lstat(clean); isPath && fs.ValidPath(clean) && errors.Is(err, fs.ErrNotExist) {
			gone[p] = nil
		}
	}
	if len(gone) == 0 {
		return gone, nil
	}
	left := maxEntries
	err = fs.WalkDir(root.FS(), ".", func(at string, d fs.DirEntry, err error) error {
		name := path.Base(at)
		switch left--; {
		case left == 0:
			return fs.SkipAll
		case err != nil, d.IsDir() && at != "." && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor"):
			return fs.SkipDir
		}
		for p, found := range gone {
			if d.Type().IsRegular() && path.Base(p) == name && len(found) < maxFound && !slices.Contains(found, at) {
				gone[p] = append(found, at)
			}
		}
		return nil
	})
	return gone, err
}
