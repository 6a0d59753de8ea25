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

// ErrHostGone says that the host closed the connection before the shim did, for
// example because it crashed.
var ErrHostGone = errors.New("the host has gone")

// lastAnswersTimeout bounds how long a bridge waits for the host after the shim
// has ended. It covers the grace period that the host gives to calls in flight,
// and some time to write the answers.
const lastAnswersTimeout = defaultGrace + 3*time.Second

// Bridge copies bytes between a shim and a host until either ends. When the
// shim ends its input, or ctx ends, Bridge tells the host, still copies the
// host's last answers, and returns nil. When the host ends first, Bridge
// returns ErrHostGone. Bridge closes host. It may leave behind a goroutine that
// reads from shim, because nothing interrupts a read from a blocking pipe.
//
// With a recorder, Bridge records every frame before it passes the frame on.
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

// startPoll is the pause between two dials to a host that is starting. A failed
// dial takes microseconds, and the user is waiting, so the pause is short.
const startPoll = 3 * time.Millisecond

// Connect dials the host of the endpoint. If no host is running, Connect calls
// start and then dials until the new host answers or ctx ends. The channel that
// start returns receives when the new process ends. If the running host is of
// an older release, Connect asks it to stop and starts a new one; the older
// host's clients reconnect to the new host. However many processes connect at
// the same time, only one of them starts a host.
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

// dialCurrent is Dial, but returns an outdatedError if the running host is of
// an older release.
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
