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

// startPoll is the pause between two attempts to reach a host that is starting. It is short, because the user is
// waiting and a failed dial takes only microseconds.
const startPoll = time.Millisecond

// While Connect waits for a new host, it usually dials only in the directory where this host should listen, which is
// fast. But another process may be starting a host in another directory. So every 50th dial looks in all directories.
const lookEverywhere = 50

// Connect dials the host of the endpoint's data directory, even if its socket is in another runtime directory. If no
// host is running, Connect calls `start`, and then dials until the new host answers or ctx ends. The channel that
// `start` returns receives a value when the new process ends. If the running host is from an older release, Connect
// asks it to stop and starts a new one. If many processes call Connect at the same time, only one of them starts a
// host.
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
	// While this process waited for the lock, the previous holder of the lock has probably started a host. So look
	// again.
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

// dialCurrent dials like Dial. If the running host is from an older release, it returns an outdatedError instead of a
// connection.
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
