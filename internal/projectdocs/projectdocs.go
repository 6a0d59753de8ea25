package projectdocs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

var names = [...]string{"ARCHITECTURE.md", "STRUCTURE.md"}

const (
	maxSize = 256 << 10
	// The host serves only a few projects at a time.
	maxDirectories = 16
)

type Doc struct {
	Name    string
	Content []byte
}

type Docs struct {
	// Files shares the content of its documents with the cache, so the caller must not change it.
	Files   []Doc
	Refused []error
}

// A Reader caches documents until a file's size or modification time changes. It is safe for concurrent use,
// and the zero Reader is ready for use.
type Reader struct {
	running singleflight.Group
	mu      sync.Mutex
	cached  map[string]entry // by directory
}

type entry struct {
	stamps stamps
	docs   Docs
}

type stamps [len(names)]stamp

type stamp struct {
	exists   bool
	size     int64
	modified time.Time
}

// If the directory is missing or has no documents, Read returns no error. If ctx ends, Read returns immediately, while
// a goroutine goes on reading. So if a file system does not answer, only one goroutine per directory hangs.
func (r *Reader) Read(ctx context.Context, dir string) (Docs, error) {
	done := r.running.DoChan(dir, func() (any, error) { return r.read(dir) })
	select {
	case <-ctx.Done():
		return Docs{}, fmt.Errorf("read the documents of %s: %w", dir, context.Cause(ctx))
	case result := <-done:
		docs, _ := result.Val.(Docs)
		return docs, result.Err
	}
}

func (r *Reader) read(dir string) (Docs, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Docs{}, nil
	}
	if err != nil {
		return Docs{}, fmt.Errorf("read the documents of %s: %w", dir, err)
	}
	defer root.Close()

	found, now := look(root)
	if docs, ok := r.lookUp(dir, now); ok {
		return docs, nil
	}
	docs := readFiles(root, dir, found)
	// If a document was refused, the result is not cached. The user may correct the document's permissions, which
	// changes neither its size nor its modification time. The cache would not notice that.
	if len(docs.Refused) == 0 {
		r.store(dir, now, docs)
	}
	return docs, nil
}

func look(root *os.Root) (found [len(names)]fs.FileInfo, now stamps) {
	for i, name := range names {
		if info, err := root.Lstat(name); err == nil {
			found[i] = info
			now[i] = stamp{exists: true, size: info.Size(), modified: info.ModTime()}
		}
	}
	return found, now
}

func readFiles(root *os.Root, dir string, found [len(names)]fs.FileInfo) (docs Docs) {
	for i, name := range names {
		if found[i] == nil {
			continue
		}
		content, err := readFile(root, name, found[i])
		if err != nil {
			docs.Refused = append(docs.Refused, fmt.Errorf("read %s of %s: %w", name, dir, err))
			continue
		}
		docs.Files = append(docs.Files, Doc{Name: name, Content: content})
	}
	return docs
}

func (r *Reader) lookUp(dir string, now stamps) (Docs, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, known := r.cached[dir]
	return e.docs, known && e.stamps == now
}

func (r *Reader) store(dir string, now stamps, docs Docs) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cached == nil || len(r.cached) >= maxDirectories {
		r.cached = map[string]entry{}
	}
	r.cached[dir] = entry{now, docs}
}
