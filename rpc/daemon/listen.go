package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
)

// A Listener accepts clients of one data directory's host. On a Unix socket, it accepts processes of this user. On TCP,
// it accepts processes that can read the token file.
type Listener struct {
	net   net.Listener
	uid   int    // the user who may connect to a Unix socket
	token string // the secret that both ends of a TCP connection must know
	file  string // socket or token file, removed at the end

	record string // the file that names the runtime directory, removed at the end; "" if none was written
	// A client with other environment variables may look for the host in another runtime directory. So the host writes
	// the path of its runtime directory to a file in the data directory (`record`). If that fails, Unrecorded is the
	// error.
	Unrecorded error
}

var (
	ErrRunning = errors.New("a host is already running for this data directory")
	// ErrNoHost means that no host serves the data directory.
	ErrNoHost = errors.New("no host is running")
)

// A HostLock makes this process the only host of an endpoint.
type HostLock struct {
	endpoint Endpoint
	unlock   func()
}

// LockHost makes this process the only host of the endpoint. If another host is running, LockHost returns ErrRunning.
// If another host holds the lock but does not answer, it may be about to end, so LockHost waits for the lock until ctx
// ends.
func LockHost(ctx context.Context, e Endpoint) (*HostLock, error) {
	for {
		unlock, err := tryLockHost(ctx, e)
		if err == nil {
			// A dead host may have left its token file, which names a port that any program may use now. While a
			// process holds the lock, clients trust the token file, so it must be removed before they read it.
			os.Remove(e.tcp())
			return &HostLock{e, unlock}, nil
		}
		if !errors.Is(err, errLockHeld) {
			return nil, err
		}
		if _, _, err := hostVersion(ctx, e); err == nil {
			return nil, ErrRunning
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w, but does not answer", ErrRunning)
		}
	}
}

// tryLockHost takes two locks, and waits only a moment for each. The lock in the runtime directory comes first: it
// tells clients that the host of this endpoint is alive. The lock in the data directory keeps out a second host that
// uses another runtime directory with the same data. If the second lock cannot be created, for example because the data
// directory is read-only, the first one has to be enough.
func tryLockHost(ctx context.Context, e Endpoint) (unlock func(), err error) {
	unlockRuntime, err := lockSoon(ctx, e.hostLock())
	if err != nil || e.data == "" {
		return unlockRuntime, err
	}
	unlockData, err := lockSoon(ctx, e.dataLock())
	switch {
	case err == nil:
		return func() { unlockData(); unlockRuntime() }, nil
	case errors.Is(err, errLockHeld):
		unlockRuntime()
		return nil, err
	default:
		return unlockRuntime, nil
	}
}

func lockSoon(ctx context.Context, path string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, lockPoll)
	defer cancel()
	return lock(ctx, path)
}

// Release lets another process become the host. Call it after all work that only one host may do, such as closing the
// database.
func (l *HostLock) Release() { l.unlock() }

// Listen starts to listen. If there is already a socket, it must belong to a killed host, because this process has the
// host lock. So Listen replaces the socket. If Listen cannot record the runtime directory, some clients will not find
// the host (see Listener.Unrecorded).
func (l *HostLock) Listen(ctx context.Context) (*Listener, error) {
	listener, err := listenUnix(l.endpoint)
	if err != nil {
		listener, err = listenTCP(ctx, l.endpoint, err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if l.endpoint.data != "" {
		listener.record = recordPath(l.endpoint.data)
		listener.Unrecorded = l.endpoint.record()
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
	// The directory is private, so no other user can connect before the chmod.
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: e.socket(), Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(e.socket(), 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return &Listener{net: l, uid: os.Getuid(), file: e.socket()}, nil
}

// noSockets reports whether MAGICCTX_NO_SOCKETS is set. People and tests set it to use TCP, the transport for Windows,
// on other systems.
func noSockets() bool { return os.Getenv("MAGICCTX_NO_SOCKETS") != "" }

// tcpAddress is the content of the token file.
type tcpAddress struct {
	Address   string `json:"address"`
	Token     string `json:"token"`
	Handshake int    `json:"handshake"`
}

func listenTCP(ctx context.Context, e Endpoint, noUnix error) (*Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(noUnix, err)
	}
	token := newNonce()
	content, err := json.Marshal(tcpAddress{l.Addr().String(), token, handshakeVersion})
	if err == nil {
		err = writePrivate(e.tcp(), content)
	}
	if err != nil {
		l.Close()
		return nil, errors.Join(noUnix, err)
	}
	return &Listener{net: l, token: token, file: e.tcp()}, nil
}

// writePrivate replaces the file at path atomically.
func writePrivate(path string, content []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // CreateTemp gives the file mode 0600
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

// Accept returns the next connection unchecked. The caller must call Check on another goroutine, because Check waits
// until the client has sent its token.
func (l *Listener) Accept() (net.Conn, error) { return l.net.Accept() }

func (l *Listener) Check(conn net.Conn) error {
	if socket, ok := conn.(*net.UnixConn); ok {
		return checkClient(socket, l.uid)
	}
	if err := conn.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return err
	}
	if err := greetClient(conn, l.token); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	return conn.SetDeadline(time.Time{})
}

func checkClient(socket *net.UnixConn, want int) error {
	uid, err := uidOf(socket)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil
	case err != nil:
		return err
	case uid != want:
		return fmt.Errorf("user %d may not speak to the host of user %d", uid, want)
	}
	return nil
}

// The system call differs between systems, see peerUID.
func uidOf(socket *net.UnixConn) (uid int, err error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	if ctlErr := raw.Control(func(fd uintptr) { uid, err = peerUID(int(fd)) }); ctlErr != nil {
		return 0, ctlErr
	}
	if err != nil {
		return 0, fmt.Errorf("peer of socket: %w", err)
	}
	return uid, nil
}

func (l *Listener) Transport() string { return l.net.Addr().Network() }

func (l *Listener) Address() string { return l.net.Addr().String() }

func (l *Listener) Close() error {
	err := l.net.Close() // this also removes the socket
	for _, file := range []string{l.file, l.record} {
		if rmErr := os.Remove(file); file != "" && rmErr != nil && !errors.Is(rmErr, os.ErrNotExist) {
			err = errors.Join(err, rmErr)
		}
	}
	return err
}
