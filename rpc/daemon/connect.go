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

// startPoll is the pause between two dials to a host that is starting. A failed
// dial takes microseconds, and the user is waiting, so the pause is short.
const startPoll = time.Millisecond

// lookEverywhere is the number of dials after which one dial looks in all directories. The new host has the
// environment of this process, so it listens where this process would. Only a host that another process
// starts at this moment may listen elsewhere.
const lookEverywhere = 50

// Connect dials the host of the endpoint's data directory, in whichever runtime directory its socket is. If
// no host is running, Connect calls start, and then dials until the new host answers or ctx ends. start
// returns a channel, which receives a value when the new process ends. If the running host is of an older
// release, Connect asks it to stop and starts a new one; the older host's clients reconnect to the new host.
// If many processes connect at the same time, only one of them starts a host.
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
	// The process that held the lock before us has most likely started a host.
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

// dialCurrent is Dial, but returns an outdatedError if the running host is of
// an older release.
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
