package rpc

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// ErrHostGone says that the host ended before the shim did.
var ErrHostGone = errors.New("the host has gone")

// lastAnswersTimeout bounds the wait for the host after the shim has ended: it
// gives calls in flight a grace period of its own.
const lastAnswersTimeout = defaultGrace + 3*time.Second

// Bridge copies bytes between a shim and a host until either ends. When the shim
// ends its input, or ctx ends, the host learns of it and its last answers are
// still copied; the result is nil. When the host ends first it is ErrHostGone.
// Bridge closes host; it may leave a goroutine behind that reads from shim, since
// nothing interrupts reading from a blocking pipe.
//
// With a recorder, every frame is recorded before it is passed on.
func Bridge(ctx context.Context, shim io.ReadWriter, host io.ReadWriteCloser, rec *Recorder) error {
	defer host.Close()
	fromShim, fromHost := make(chan error, 1), make(chan error, 1)
	go func() { fromShim <- forward(host, shim, rec, FromShim) }()
	go func() { fromHost <- forward(shim, host, rec, FromHost) }()

	select {
	case err := <-fromHost:
		return errors.Join(ErrHostGone, ignoreEnd(err))
	case err := <-fromShim:
		if ignoreEnd(err) != nil {
			return fmt.Errorf("from shim to host: %w", err)
		}
	case <-ctx.Done():
	}
	if err := closeWrite(host); err != nil && !isEnd(err) {
		return fmt.Errorf("tell the host that the shim ended: %w", err)
	}
	select {
	case err := <-fromHost:
		return ignoreEnd(err)
	case <-time.After(lastAnswersTimeout):
		return errors.New("the host does not end the connection")
	}
}

func forward(to io.Writer, from io.Reader, rec *Recorder, sender Sender) error {
	if rec == nil {
		_, err := io.Copy(to, from)
		return err
	}
	r := bufio.NewReaderSize(from, readBufferBytes)
	for {
		f, err := readFrame(r)
		if err != nil {
			return err
		}
		rec.record(sender, f)
		if err := writeFrame(to, f); err != nil {
			return err
		}
	}
}

func ignoreEnd(err error) error {
	if err == nil || isEnd(err) {
		return nil
	}
	return err
}

func closeWrite(c io.Closer) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// startPoll is how long to wait between two dials to a host that is starting. A
// dial that finds nobody takes microseconds, and the user is waiting.
const startPoll = 3 * time.Millisecond

// Connect dials the host of the endpoint. If none is running it calls start,
// which starts one and returns a channel that tells when it ended, and dials
// until it answers or ctx ends. A host of an older release is asked to make
// place first; its clients come back to the new one. Of any number of processes
// that connect at the same time, one starts a host.
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
	// Whoever held the lock before has most likely started one.
	conn, err = dialCurrent(ctx, e)
	if !needsStart(err) {
		return conn, err
	}
	if outdated := (*outdatedError)(nil); errors.As(err, &outdated) {
		if err := outdated.takeOver(ctx, e); err != nil {
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

// dialCurrent is Dial, but fails with an outdatedError for a host of an older release.
func dialCurrent(ctx context.Context, e Endpoint) (net.Conn, error) {
	version, err := hostVersion(ctx, e)
	if err != nil {
		return nil, err
	}
	if isOlder(version, Version) {
		return nil, &outdatedError{version}
	}
	return Dial(ctx, e)
}

var errExitOK = errors.New("exit status 0")

func dialStarting(ctx context.Context, e Endpoint, ended <-chan error) (net.Conn, error) {
	for {
		var hasEnded error
		select {
		case err := <-ended:
			hasEnded = fmt.Errorf("the host ended at its start: %w", cmp.Or(err, errExitOK))
		case <-time.After(startPoll):
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the host to start: %w", context.Cause(ctx))
		}
		conn, err := Dial(ctx, e)
		if !errors.Is(err, ErrNoHost) {
			return conn, err
		}
		if hasEnded != nil {
			return nil, hasEnded
		}
	}
}
