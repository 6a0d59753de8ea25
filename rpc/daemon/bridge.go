package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/magicctx/magicctx-host/rpc"
)

// ErrHostGone means that the host closed the connection first, for example because it crashed.
var ErrHostGone = errors.New("the host has gone")

// After the shim has ended, a bridge waits this long for the host: the grace period for calls in flight, and time to
// write the answers.
const lastAnswersTimeout = rpc.DefaultGrace + 3*time.Second

// Bridge copies bytes between a shim and a host until one of them ends. If the shim stops sending, or ctx ends, Bridge
// tells the host that no more input comes, copies the last answers, and returns nil. If the host ends first, Bridge returns
// ErrHostGone. Bridge closes `host`. The goroutine that reads from `shim` may remain, because nothing can interrupt a
// read from a blocking pipe. If rec is not nil, Bridge records every frame before it copies the frame.
func Bridge(ctx context.Context, shim io.ReadWriter, host io.ReadWriteCloser, rec *rpc.Recorder) error {
	defer host.Close()
	fromShim, fromHost := make(chan error, 1), make(chan error, 1)
	go func() { fromShim <- rpc.Forward(ctx, host, shim, rec, rpc.FromShim) }()
	go func() { fromHost <- rpc.Forward(ctx, shim, host, rec, rpc.FromHost) }()

	select {
	case err := <-fromHost:
		return errors.Join(ErrHostGone, err)
	case err := <-fromShim:
		if err != nil {
			return fmt.Errorf("from shim to host: %w", err)
		}
	case <-ctx.Done():
	}
	if err := closeWrite(host); err != nil && !rpc.IsEnd(err) {
		return fmt.Errorf("tell the host that the shim ended: %w", err)
	}
	select {
	case err := <-fromHost:
		return err
	case <-time.After(lastAnswersTimeout):
		return errors.New("the host does not end the connection")
	}
}

func closeWrite(c io.Closer) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}
