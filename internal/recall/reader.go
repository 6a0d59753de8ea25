package recall

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/store/index"
)

// Opening the index takes longer than a lookup, so a reader keeps it open for a while.
type reader struct {
	mu    sync.Mutex
	x     *index.Index
	file  os.FileInfo // of the open index
	close *time.Timer
}

// The index stays open for this time after a lookup. While it is open, some systems cannot replace its file.
const idle = 20 * time.Second

func (r *reader) use(ctx context.Context, dir string, f func(*index.Index) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, err := os.Stat(index.PathIn(dir))
	if err != nil {
		return index.ErrMissing
	}
	if r.x != nil && !os.SameFile(now, r.file) { // another process has made it anew
		r.end()
	}
	if r.x == nil {
		if r.x, err = index.OpenReadOnly(ctx, dir); err != nil {
			r.x = nil
			return err
		}
		r.file, r.close = now, time.AfterFunc(idle, r.stop)
	}
	r.close.Reset(idle)
	if err = f(r.x); err != nil {
		r.end()
	}
	return err
}

func (r *reader) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end()
}

func (r *reader) end() {
	if r.x != nil {
		r.close.Stop()
		_ = r.x.Close() // it was only read
		r.x = nil
	}
}
