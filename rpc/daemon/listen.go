package daemon

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
)

// A Listener accepts connections to the host of one data directory, and only
// from permitted clients. Over a Unix socket these are processes of this user.
// Over TCP these are processes that can read the token file.
type Listener struct {
	net   net.Listener
	uid   int    // the user who may connect to a Unix socket
	token string // the secret that a TCP client must send
	file  string // socket or token file, removed at the end
}

var (
	// ErrRunning says that a host already serves the data directory.
	ErrRunning = errors.New("a host is already running for this data directory")
	// ErrNoHost says that no host serves the data directory.
	ErrNoHost = errors.New("no host is running")
)

// A HostLock makes this process the host of an endpoint. At most one process
// holds it.
type HostLock struct {
	endpoint Endpoint
	unlock   func()
}

// LockHost makes this process the host of the endpoint. If another host is
// ending, LockHost waits for as long as ctx lasts. If another host is running,
// the error is ErrRunning.
func LockHost(ctx context.Context, e Endpoint) (*HostLock, error) {
	for {
		attempt, cancel := context.WithTimeout(ctx, lockPoll)
		unlock, err := lock(attempt, e.hostLock())
		cancel()
		if err == nil {
			return &HostLock{e, unlock}, nil
		}
		if !errors.Is(err, errLockHeld) {
			return nil, err
		}
		if _, err := hostVersion(ctx, e); err == nil {
			return nil, ErrRunning
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w, but does not answer", ErrRunning)
		}
	}
}

// Release lets another process become the host. Call it last, after all work
// that two hosts must not do at the same time, such as closing the database.
func (l *HostLock) Release() { l.unlock() }

// Listen starts to listen. No other process can be listening, because this one
// holds the host lock. An existing socket was therefore left behind by a host
// that was killed, and is replaced.
func (l *HostLock) Listen(ctx context.Context) (*Listener, error) {
	listener, err := listenUnix(l.endpoint)
	if err != nil {
		listener, err = listenTCP(ctx, l.endpoint, err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return listener, nil
}

func listenUnix(e Endpoint) (*Listener, error) {
	if runtime.GOOS == "windows" || noSockets() {
		return nil, errors.ErrUnsupported
	}
	if err := os.Remove(e.socket()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	// The directory is already private, so no other user can dial before the
	// chmod.
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: e.socket(), Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(e.socket(), 0o600); err != nil {
		l.Close()
		return nil, err
	}
	os.Remove(e.tcp()) // left by a host that listened on TCP instead
	return &Listener{net: l, uid: os.Getuid(), file: e.socket()}, nil
}

// noSockets lets people and tests choose TCP, the transport for Windows, on
// other systems.
func noSockets() bool { return os.Getenv("MAGICCTX_NO_SOCKETS") != "" }

// tcpAddress is the content of the token file.
type tcpAddress struct {
	Address string `json:"address"`
	Token   string `json:"token"`
}

func listenTCP(ctx context.Context, e Endpoint, noUnix error) (*Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(noUnix, err)
	}
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	token := hex.EncodeToString(secret)
	content, err := json.Marshal(tcpAddress{l.Addr().String(), token})
	if err == nil {
		err = writePrivate(e.tcp(), content)
	}
	if err != nil {
		l.Close()
		return nil, errors.Join(noUnix, err)
	}
	return &Listener{net: l, token: token, file: e.tcp()}, nil
}

// writePrivate replaces the file at path atomically: a reader finds all of the
// new content or none of it.
func writePrivate(path string, content []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(content)
	if err := errors.Join(err, temp.Close()); err != nil {
		os.Remove(temp.Name())
		return err
	}
	return os.Rename(temp.Name(), path)
}

// Accept returns the next connection without checking it. Call Check on another
// goroutine, because the client may take its time to send its token.
func (l *Listener) Accept() (net.Conn, error) { return l.net.Accept() }

// tokenTimeout bounds the wait for the token on a new TCP connection.
const tokenTimeout = 5 * time.Second

// Check fails unless the client at the other end of conn may use this host.
func (l *Listener) Check(conn net.Conn) error {
	if socket, ok := conn.(*net.UnixConn); ok {
		return checkPeer(socket, l.uid)
	}
	if err := conn.SetReadDeadline(time.Now().Add(tokenTimeout)); err != nil {
		return err
	}
	sent := make([]byte, len(l.token))
	if _, err := io.ReadFull(conn, sent); err != nil {
		return fmt.Errorf("read token: %w", err)
	}
	if subtle.ConstantTimeCompare(sent, []byte(l.token)) != 1 {
		return errors.New("wrong token")
	}
	return conn.SetReadDeadline(time.Time{})
}

func checkPeer(socket *net.UnixConn, want int) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var uid int
	var uidErr error
	if err := raw.Control(func(fd uintptr) { uid, uidErr = peerUID(int(fd)) }); err != nil {
		return err
	}
	switch {
	case errors.Is(uidErr, errors.ErrUnsupported):
		return nil
	case uidErr != nil:
		return fmt.Errorf("peer of socket: %w", uidErr)
	case uid != want:
		return fmt.Errorf("user %d may not speak to the host of user %d", uid, want)
	}
	return nil
}

// Close accepts no further connections.
func (l *Listener) Close() error {
	err := l.net.Close() // removes a socket
	if rmErr := os.Remove(l.file); rmErr != nil && !errors.Is(rmErr, os.ErrNotExist) {
		err = errors.Join(err, rmErr)
	}
	return err
}

// Dial connects to the running host. If no host is running, the error is
// ErrNoHost.
func Dial(ctx context.Context, e Endpoint) (net.Conn, error) {
	var d net.Dialer
	conn, unixErr := d.DialContext(ctx, "unix", e.socket())
	if unixErr == nil {
		return conn, nil
	}
	if err := refusePipe(e.tcp()); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(e.tcp())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoHost, unixErr)
	}
	var at tcpAddress
	if err := json.Unmarshal(content, &at); err != nil {
		return nil, fmt.Errorf("read %s: %w", e.tcp(), err)
	}
	if conn, err = d.DialContext(ctx, "tcp", at.Address); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoHost, err)
	}
	if _, err := io.WriteString(conn, at.Token); err != nil {
		conn.Close()
		return nil, fmt.Errorf("send token: %w", err)
	}
	return conn, nil
}
