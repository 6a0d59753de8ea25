package script

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxFileBytes excludes large files, for example generated ones, which OpenCode's read tool would shorten.
const maxFileBytes = 60_000

// RepositoryFiles returns the source files of this repository (path to content) below the given folders. Without
// folders, it returns all source files. New files are included unless git ignores them.
func RepositoryFiles(ctx context.Context, repo string, folders ...string) (map[string]string, error) {
	args := append([]string{"-C", repo, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"}, folders...)
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("list files of the repository: %w", err)
	}
	files := map[string]string{}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if !isSource(name) {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(repo, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // the file is deleted, but the deletion is not committed yet
		}
		if err != nil {
			return nil, fmt.Errorf("read file of the repository: %w", err)
		}
		if len(raw) <= maxFileBytes {
			files[name] = string(raw)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no source files in %s below %q", repo, folders)
	}
	return files, nil
}

func isSource(name string) bool {
	if strings.Contains(name, "testdata/") {
		return false
	}
	return slices.Contains([]string{".go", ".ts", ".md", ".sql"}, path.Ext(name))
}
