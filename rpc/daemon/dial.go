package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"

	"github.com/gofrs/flock"

	"github.com/magicctx/magicctx-host/internal/json"
)

// ErrForeign means that the process at the endpoint is not a host of this user.
var ErrForeign = errors.New("not a host of this user")

// dialAt connects to the endpoint. It refuses if the endpoint's directory may have been prepared by another user.
func dialAt(ctx context.Context, e Endpoint) (net.Conn, error) {
	if err := checkOwner(e.dir); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoHost, err)
	}
	if err := checkPrivate(e.dir); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoHost, err)
	}
	conn, unixErr := dialUnix(ctx, e)
	if unixErr == nil {
		return conn, nil
	}
	if !errors.Is(unixErr, ErrNoHost) {
		return nil, unixErr
	}
	conn, err := dialTCP(ctx, e)
	if errors.Is(err, os.ErrNotExist) {
		return nil, unixErr
	}
	return conn, err
}

func dialUnix(ctx context.Context, e Endpoint) (net.Conn, error) {
	if runtime.GOOS == "windows" {
		return nil, fmt.Errorf("%w: %w", ErrNoHost, errors.ErrUnsupported)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", e.socket())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoHost, err)
	}
	if err := checkServer(conn.(*net.UnixConn), os.Getuid()); err != nil {
		conn.Close()
		return nil, fmt.Errorf("%s: %w", e.socket(), err)
	}
	return conn, nil
}

func checkServer(socket *net.UnixConn, user int) error {
	uid, err := uidOf(socket)
	switch {
	case errors.Is(err, errors.ErrUnsupported): // here, the modes of directory and socket keep other users out
		return nil
	case err != nil:
		return err
	case uid != user:
		return fmt.Errorf("%w: a process of user %d listens here, and you are user %d; end that process", ErrForeign, uid, user)
	}
	return nil
}

// handshakeTimeout bounds the TCP handshake, at both ends.
const handshakeTimeout = 5 * time.Second

// dialTCP connects to the address in the token file. If there is no file, the error wraps os.ErrNotExist. If no process
// holds the host lock, dialTCP ignores the file: the host is dead, and another program may already use its port.
func dialTCP(ctx context.Context, e Endpoint) (net.Conn, error) {
	if err := refusePipe(e.tcp()); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(e.tcp())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoHost, err)
	}
	if !isLocked(e.hostLock()) {
		return nil, fmt.Errorf("%w: %s was left behind by a host that has ended", ErrNoHost, e.tcp())
	}
	var at tcpAddress
	if err := json.Unmarshal(content, &at); err != nil {
		return nil, fmt.Errorf("read %s: %w", e.tcp(), err)
	}
	if at.Handshake != handshakeVersion {
		return nil, fmt.Errorf("%s: the running host uses handshake %d, this program %d; end that host", e.tcp(), at.Handshake, handshakeVersion)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", at.Address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoHost, err)
	}
	if err := greetWithin(ctx, conn, at.Token); err != nil {
		conn.Close()
		return nil, fmt.Errorf("%s: %w", at.Address, err)
	}
	return conn, nil
}

func greetWithin(ctx context.Context, conn net.Conn, token string) error {
	if err := conn.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	err := greetHost(conn, token)
	if !stop() {
		return fmt.Errorf("handshake: %w", context.Cause(ctx))
	}
	if err != nil {
		return err
	}
	return conn.SetDeadline(time.Time{})
}

// isLocked reports whether a process holds the lock file at path. It does not create the file. It tries to take a
// shared lock for a moment, so that several clients can ask at the same time. If a host starts at that moment and
// cannot take its own lock, it tries again.
func isLocked(path string) bool {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() { // opening a named pipe would block
		return false
	}
	file := flock.New(path, flock.SetFlag(os.O_RDONLY))
	defer file.Close()
	free, err := file.TryRLock()
	return err == nil && !free
}
