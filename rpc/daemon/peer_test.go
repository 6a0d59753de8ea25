package daemon

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// The client must send nothing to another user's host. The test cannot run a host as another user, so it makes the
// client believe that its own user has a different id.
func TestClientChecksTheUserOfTheHost(t *testing.T) {
	p := newPlace(t)
	p.serveAt(nil)
	var d net.Dialer
	conn, err := d.DialContext(patience(t), "unix", p.socket())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	socket := conn.(*net.UnixConn)
	if err := checkServer(socket, os.Getuid()); err != nil {
		t.Errorf("the own host is refused: %v", err)
	}
	if err := checkServer(socket, os.Getuid()+1); !errors.Is(err, ErrForeign) {
		t.Errorf("the host of another user: %v, want %v", err, ErrForeign)
	}
}

// squat plays a foreign program that listens on the TCP port of a dead host while that host's token file still exists.
// The channel gets everything that the first connection sends.
func (p *place) squat() (received <-chan []byte) {
	p.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { l.Close() })
	content, err := json.Marshal(tcpAddress{l.Addr().String(), squattedToken, handshakeVersion})
	if err != nil {
		p.t.Fatal(err)
	}
	if err := writePrivate(p.tcp(), content); err != nil {
		p.t.Fatal(err)
	}
	all := make(chan []byte, 1)
	go func() {
		defer close(all)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		var got bytes.Buffer
		defer func() { all <- got.Bytes() }()
		if _, err := io.CopyN(&got, conn, hexBytes); err != nil {
			return
		}
		io.WriteString(conn, newNonce()+newNonce()) // a nonce, and a guessed proof
		io.Copy(&got, conn)
	}()
	return all
}

var squattedToken = strings.Repeat("5", hexBytes)

// Before the host has proved that it knows the token, the client sends only a random number.
func TestTakenOverPortReceivesNeitherTokenNorTranscript(t *testing.T) {
	p := newPlace(t)
	received := p.squat()
	unlock, err := lock(patience(t), p.hostLock()) // the lock makes the host of the token file look alive
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	conn, err := Dial(patience(t), p.Endpoint)
	if !errors.Is(err, ErrForeign) {
		t.Errorf("dialling the squatter: %v, want %v", err, ErrForeign)
	}
	if conn != nil {
		conn.Close()
	}
	got := <-received
	if _, err := hex.DecodeString(string(got)); err != nil || len(got) != hexBytes || strings.Contains(string(got), squattedToken) {
		t.Errorf("the squatter received %q, want one nonce of %d hexadecimal digits", got, hexBytes)
	}
}

func TestAddressOfADeadHostIsNotUsed(t *testing.T) {
	p := newPlace(t)
	received := p.squat()
	for name, prepare := range map[string]func(){
		"without a lock file":      func() {},
		"with the dead host's one": func() { _ = os.WriteFile(p.hostLock(), nil, 0o600) },
	} {
		prepare()
		if conn, err := Dial(patience(t), p.Endpoint); !errors.Is(err, ErrNoHost) {
			t.Errorf("%s: dialled %v, error %v, want %v", name, conn, err, ErrNoHost)
		}
	}
	select {
	case got := <-received:
		t.Errorf("the squatter was called and received %q", got)
	default:
	}
	// A starting host removes the file before it listens.
	starting, err := LockHost(patience(t), p.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(patience(t), p.Endpoint); !errors.Is(err, ErrNoHost) {
		t.Errorf("while a host starts: %v, want %v", err, ErrNoHost)
	}
	starting.Release()
	t.Setenv("MAGICCTX_NO_SOCKETS", "1")
	p.serveAt(nil)
	mustCall(t, p.dial(), schema.MethodVersion, nil, nil)
}

// Another user could have prepared the directory.
func TestSocketInADirectoryOfOthersIsNotDialled(t *testing.T) {
	p := newPlace(t)
	p.serveAt(nil)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(p.dir, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(patience(t), EndpointIn(link, p.data)); !errors.Is(err, ErrNoHost) {
		t.Errorf("through a link that anybody could have made: %v", err)
	}
	if err := os.Chmod(p.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(p.dir, 0o700)
	if _, err := Dial(patience(t), EndpointIn(p.dir, p.data)); !errors.Is(err, ErrNoHost) {
		t.Errorf("in a directory that anybody may write to: %v", err)
	}
}

// A host has the environment of the shell that started it, but clients in other shells must find it.
func TestHostIsFoundWhateverTheEnvironment(t *testing.T) {
	for name, change := range map[string]func(t *testing.T){
		"without XDG_RUNTIME_DIR":      func(t *testing.T) { t.Setenv("XDG_RUNTIME_DIR", "") },
		"with another XDG_RUNTIME_DIR": func(t *testing.T) { t.Setenv("XDG_RUNTIME_DIR", shortDir(t)) },
		"with another TMPDIR": func(t *testing.T) {
			t.Setenv("XDG_RUNTIME_DIR", "")
			t.Setenv("TMPDIR", shortDir(t))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.idle = 0
			first := p.bridge()
			pid := first.hostPID(t)
			change(t)
			second := p.bridge()
			if got := second.hostPID(t); got != pid {
				t.Errorf("the second shell is served by process %d, the first by %d", got, pid)
			}
			if starts, err := os.ReadFile(filepath.Join(p.data, "starts")); err != nil || string(starts) != "start\n" {
				t.Errorf("hosts were started: %q, error %v, want one", starts, err)
			}
			second.end()
			stopHost(t, first)
			first.end()
			p.awaitEnd()
		})
	}
}

// Two shells may start a host at the same moment.
func TestOneHostForADataDirectoryWhateverTheEnvironment(t *testing.T) {
	p := newPlace(t)
	unlock, err := tryLockHost(patience(t), p.Endpoint) // this host does not listen yet
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", shortDir(t))
	other, err := NewEndpoint(p.data)
	if err != nil {
		t.Fatal(err)
	}
	if other.dir == p.dir {
		t.Fatal("the test needs two runtime directories")
	}
	if second, err := tryLockHost(patience(t), other); !errors.Is(err, errLockHeld) {
		t.Errorf("a second host: %v, want %v", err, errLockHeld)
		second()
	}
	unlock()
	again, err := tryLockHost(patience(t), other)
	if err != nil {
		t.Fatalf("after the first host has gone: %v", err)
	}
	again()
}

func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rpc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
