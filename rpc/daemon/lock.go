package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gofrs/flock"
)

const lockPoll = 20 * time.Millisecond

// lock waits until it gets the lock file at path, or until ctx ends. unlock does not remove the file. Otherwise, while
// one process waits for the removed file, another could create a new one, and both would believe that they hold the
// lock.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	if err := refusePipe(path); err != nil {
		return nil, err
	}
	file := flock.New(path, flock.SetPermissions(0o600))
	held, err := file.TryLockContext(ctx, lockPoll)
	if err != nil && (ctx.Err() == nil || !errors.Is(err, ctx.Err())) {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !held {
		return nil, fmt.Errorf("lock %s: %w", path, errLockHeld)
	}
	// Even if Close returns an error, the operating system has released the lock.
	return func() { file.Close() }, nil
}

var errLockHeld = errors.New("held by another process")
