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

const (
	maxEntries = 20_000
	maxFound   = 3
)

// Gone returns each path that does not exist in the directory's repository, together with files elsewhere in the
// repository that have the same name. Gone skips a text such as "and/or", which has no file extension and does not
// begin with an existing directory.
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
