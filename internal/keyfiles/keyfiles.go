package keyfiles

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/sync/singleflight"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/project"
	"github.com/magicctx/magicctx-host/internal/regular"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/store/index"
)

const (
	// A larger file is most likely generated.
	maxSize  = 256 << 10
	maxFiles = 40
	// The host serves only a few projects at a time.
	maxCached = 16
	// A result is reused for freshMS. So most passes do not have to ask the index.
	freshMS = 60_000
)

// A Reader keeps each result for a minute, and is safe for concurrent use.
type Reader struct {
	Clock clock.Clock

	running singleflight.Group
	mu      sync.Mutex
	cached  map[string]entry // by the text of the question
}

type entry struct {
	at    int64
	files []history.KeyFile
}

type Question struct {
	Directory, Project string
	IndexDir           string
	// A key file was read by at least MinReads sessions.
	MinReads int
	// Shown lists the files that the head already shows. The answer must describe them even if they are no longer key
	// files.
	Shown []string
}

// Read returns the key files of a project, beginning with the one that was read most, and then the files of q.Shown
// that are not key files. A file system may hang. If ctx ends, Read returns at once and leaves one blocked goroutine
// behind.
func (r *Reader) Read(ctx context.Context, q Question) ([]history.KeyFile, error) {
	key := strings.Join(append([]string{q.Directory, q.Project, strconv.Itoa(q.MinReads)}, q.Shown...), "\x00")
	if files, ok := r.lookUp(key); ok {
		return files, nil
	}
	done := r.running.DoChan(key, func() (any, error) { // the read may outlive this pass; then its result serves the next pass
		files, err := r.read(context.WithoutCancel(ctx), q)
		if err == nil {
			r.store(key, files)
		}
		return files, err
	})
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("read the key files of %s: %w", q.Directory, context.Cause(ctx))
	case result := <-done:
		files, _ := result.Val.([]history.KeyFile)
		return files, result.Err
	}
}

func (r *Reader) lookUp(key string) ([]history.KeyFile, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, known := r.cached[key]
	return e.files, known && r.Clock.Now()-e.at < freshMS
}

func (r *Reader) store(key string, files []history.KeyFile) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cached == nil || len(r.cached) >= maxCached {
		r.cached = map[string]entry{}
	}
	r.cached[key] = entry{r.Clock.Now(), files}
}

func (r *Reader) read(ctx context.Context, q Question) (files []history.KeyFile, err error) {
	x, err := index.OpenReadOnly(ctx, q.IndexDir)
	if errors.Is(err, index.ErrMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer x.Close()
	var uses []index.FileUse
	if err := x.View(ctx, func(v *index.View) (err error) { uses, err = v.FilesRead(q.Project); return err }); err != nil {
		return nil, err
	}
	at := project.Root(q.Directory)
	root, err := os.OpenRoot(at)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, c := range candidates(uses, q.MinReads) {
		if len(files) == maxFiles {
			break
		}
		if outline, err := outlineOf(root, c.Path); err == nil && outline != "" {
			c.Outline = outline
			files = append(files, c)
		}
	}
	for _, p := range q.Shown {
		if slices.ContainsFunc(files, func(f history.KeyFile) bool { return f.Path == p }) {
			continue
		}
		outline, err := outlineOf(root, p)
		files = append(files, history.KeyFile{Path: p, Outline: outline, IsGone: errors.Is(err, fs.ErrNotExist)})
	}
	return files, nil
}

// The most read files come first.
func candidates(uses []index.FileUse, minReads int) (all []history.KeyFile) {
	type read struct {
		path string
		n    int
		last int64
	}
	places := map[string]place{}
	found := map[string]*read{}
	for _, u := range uses {
		in, known := places[u.Directory]
		if !known {
			in = placeOf(u.Directory)
			places[u.Directory] = in
		}
		p := in.path(u.Path)
		if p == "" {
			continue
		}
		if found[p] == nil {
			found[p] = &read{path: p}
		}
		found[p].n += u.Sessions
		found[p].last = max(found[p].last, u.Last)
	}
	var reads []*read
	for _, f := range found {
		if f.n >= minReads {
			reads = append(reads, f)
		}
	}
	slices.SortFunc(reads, func(a, b *read) int {
		switch {
		case a.n != b.n:
			return b.n - a.n
		case a.last != b.last:
			return int(max(-1, min(1, b.last-a.last)))
		}
		return strings.Compare(a.path, b.path)
	})
	for _, f := range reads {
		all = append(all, history.KeyFile{Path: f.path, Reads: f.n})
	}
	return all
}

// A place holds the directory of a session as the session's calls name it, the same directory with all links resolved,
// and the root of its repository.
type place struct{ directory, resolved, root string }

func placeOf(directory string) place {
	resolved, err := filepath.EvalSymlinks(directory)
	if err != nil { // gone, for example a worktree that was removed
		resolved = directory
	}
	return place{directory, resolved, project.Root(resolved)}
}

// path returns the file that a call has named, as a path below the root with slashes. If `named` is not a source file
// of the project, it returns "".
func (in place) path(named string) string {
	at := filepath.Join(in.resolved, named)
	if filepath.IsAbs(named) {
		at = named
		if inside, err := filepath.Rel(in.directory, named); err == nil && filepath.IsLocal(inside) {
			at = filepath.Join(in.resolved, inside)
		}
	}
	below, err := filepath.Rel(in.root, at)
	if err != nil || !filepath.IsLocal(below) || !isPlain(filepath.ToSlash(below)) {
		return ""
	}
	return filepath.ToSlash(below)
}

// isPlain rejects source files of libraries, and paths with invisible characters.
func isPlain(p string) bool {
	for segment := range strings.SplitSeq(p, "/") {
		if strings.HasPrefix(segment, ".") || segment == "node_modules" || segment == "vendor" {
			return false
		}
	}
	return languages[strings.ToLower(path.Ext(p))] != nil && fs.ValidPath(p) &&
		!strings.ContainsFunc(p, func(c rune) bool { return !unicode.IsPrint(c) })
}

var errNoText = errors.New("too large, or no text")

// outlineOf follows no link at the file's place.
func outlineOf(root *os.Root, p string) (string, error) {
	outline := languages[strings.ToLower(path.Ext(p))]
	if outline == nil {
		return "", errNoText
	}
	seen, err := root.Lstat(p)
	if err != nil {
		return "", err
	}
	f, opened, err := regular.Open(root, p, seen)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if opened.Size() > maxSize {
		return "", errNoText
	}
	source, err := io.ReadAll(io.LimitReader(f, maxSize+1)) // it may still grow
	if err != nil {
		return "", err
	}
	if len(source) > maxSize || bytes.IndexByte(source, 0) >= 0 {
		return "", errNoText
	}
	return joined(outline(source)), nil
}
