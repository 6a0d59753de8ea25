package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gofrs/flock"
)

const lockPoll = 20 * time.Millisecond

// lock waits for the lock file at path until ctx ends. unlock does not remove the file. If it did, one process could
// wait for the removed file while another created a new one, and both would believe that they hold the lock.
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
	// The system releases the lock even if Close returns an error.
	return func() { file.Close() }, nil
}

var errLockHeld = errors.New("held by another process")
