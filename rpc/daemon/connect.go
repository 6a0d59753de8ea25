package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/magicctx/magicctx-host/rpc"
)

// startPoll is the pause between two dials to a host that is starting. The user is waiting, and a failed dial takes
// microseconds.
const startPoll = time.Millisecond

// After this number of dials, one dial looks in all directories. The new host listens where this process would, but
// another process may be starting a host elsewhere.
const lookEverywhere = 50

// Connect dials the host of the endpoint's data directory, wherever its socket is. If no host is running, Connect
// calls start, and then dials until the new host answers or ctx ends. start returns a channel, which receives a value
// when the new process ends. An older release is asked to stop, and its clients reconnect to the new host. Of many
// processes that connect at the same time, only one starts a host.
func Connect(ctx context.Context, e Endpoint, start func() (ended <-chan error, err error)) (net.Conn, error) {
	conn, err := dialCurrent(ctx, e)
	if !needsStart(err) {
		return conn, err
	}
	unlock, err := lock(ctx, e.startLock())
	if err != nil {
		return nil, fmt.Errorf("wait for the host to start: %w", err)
	}
	defer unlock()
	// Most likely, the process that held the lock before has started a host.
	conn, err = dialCurrent(ctx, e)
	if !needsStart(err) {
		return conn, err
	}
	if outdated := (*outdatedError)(nil); errors.As(err, &outdated) {
		if err := outdated.takeOver(ctx); err != nil {
			return nil, err
		}
	}
	ended, err := start()
	if err != nil {
		return nil, fmt.Errorf("start the host: %w", err)
	}
	return dialStarting(ctx, e, ended)
}

func needsStart(err error) bool {
	return errors.Is(err, ErrNoHost) || errors.As(err, new(*outdatedError))
}

// dialCurrent is Dial, but returns an outdatedError if the running host is of an older release.
func dialCurrent(ctx context.Context, e Endpoint) (net.Conn, error) {
	version, at, err := hostVersion(ctx, e)
	if err != nil {
		return nil, err
	}
	if isOlder(version, rpc.Version) {
		return nil, &outdatedError{version, at}
	}
	return dialAt(ctx, at)
}

var errExitOK = errors.New("exit status 0")

func dialStarting(ctx context.Context, e Endpoint, ended <-chan error) (net.Conn, error) {
	for dials := 1; ; dials++ {
		var hasEnded error
		select {
		case err := <-ended:
			hasEnded = fmt.Errorf("the host ended at its start: %w", cmp.Or(err, errExitOK))
		case <-time.After(startPoll):
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the host to start: %w", context.Cause(ctx))
		}
		at := e
		if hasEnded == nil && dials%lookEverywhere != 0 {
			at.data = ""
		}
		conn, err := Dial(ctx, at)
		if !errors.Is(err, ErrNoHost) {
			return conn, err
		}
		if hasEnded != nil {
			return nil, hasEnded
		}
	}
}
