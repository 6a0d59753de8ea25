package dream

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/magicctx/magicctx-host/agents/dreamer"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/project"
)

// The method `documents` returns a part for each document of the project. The user gets the dreamer's changes to a
// document as a diff. So a document is left out if it contains characters that a diff does not show, for example
// carriage returns from Windows.
func (r *run) documents(ctx context.Context) (all []part, err error) {
	resolved, err := filepath.EvalSymlinks(r.directory)
	if root := project.Root(r.directory); err != nil || root != r.directory && root != resolved {
		return nil, err // the paths in the documents may begin at the project's root or at this deeper directory, and nobody can tell
	}
	docs, err := r.docs.Read(ctx, r.directory)
	if err != nil {
		return nil, err
	}
	for _, refused := range docs.Refused {
		r.Log.Info("a document is not maintained", "directory", r.directory, "error", refused)
	}
	for _, d := range docs.Files {
		text := string(d.Content)
		if text != format.CleanAll(text) {
			continue
		}
		j := r.job()
		j.Memories = dreamer.Lines(d.Name, text)
		r.find(&j)
		all = append(all, part{j, d.Name, text})
	}
	return all, nil
}

// The method `propose` writes `diff` to a file, so that the user can apply it. If `diff` is "", the method removes the
// file that an earlier run wrote.
func (r *run) propose(diff string) (path string, err error) {
	path = filepath.Join(filepath.Dir(r.Store.Path()), "proposals", fmt.Sprintf("%.8x.patch", sha256.Sum256([]byte(r.project))))
	if diff == "" {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("remove an old proposal: %w", err)
		}
		return "", nil
	}
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		err = os.WriteFile(path, []byte(diff), 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("write a proposal: %w", err)
	}
	return path, nil
}
