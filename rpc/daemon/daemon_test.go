package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
)

func TestManyBridgesStartOneHost(t *testing.T) {
	p := newPlace(t)
	bridges := make([]*bridge, 8)
	pids := make([]int, len(bridges))
	for i := range bridges {
		bridges[i] = p.bridge()
	}
	var wg sync.WaitGroup
	for i, b := range bridges {
		wg.Go(func() { pids[i] = b.hostPID(t) })
	}
	wg.Wait()
	for i, pid := range pids {
		if pid == 0 || pid != pids[0] {
			t.Errorf("bridge %d is served by process %d, bridge 0 by %d", i, pid, pids[0])
		}
	}
	starts, err := os.ReadFile(filepath.Join(p.data, "starts"))
	if err != nil || string(starts) != "start\n" {
		t.Errorf("hosts were started: %q, error %v, want one", starts, err)
	}
	for i, b := range bridges[1:] {
		if err := b.end(); err != nil {
			t.Errorf("bridge %d ended with %v\n%s", i+1, err, b.stderr.String())
		}
	}
	stopHost(t, bridges[0])
	bridges[0].end()
	p.awaitEnd()
}

func TestKilledHostEndsItsBridgesAndIsReplaced(t *testing.T) {
	p := newPlace(t)
	bridges := []*bridge{p.bridge(), p.bridge()}
	old := bridges[0].hostPID(t)
	if pid := bridges[1].hostPID(t); pid != old {
		t.Fatalf("two hosts, %d and %d", old, pid)
	}
	host, err := os.FindProcess(old)
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Kill(); err != nil {
		t.Fatal(err)
	}
	for i, b := range bridges {
		wait(t, "the bridge to end", b.Done())
		err := b.end()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || !strings.Contains(b.stderr.String(), ErrHostGone.Error()) {
			t.Errorf("bridge %d ended with %v and said %q", i, err, b.stderr.String())
		}
	}
	next := p.bridge() // the bridge finds the socket of the dead host
	if pid := next.hostPID(t); pid == old || pid == 0 {
		t.Errorf("served by process %d after %d was killed", pid, old)
	}
	stopHost(t, next)
	next.end()
	p.awaitEnd()
}

func TestNewerReleaseTakesOver(t *testing.T) {
	p := newPlace(t)
	p.version = "v1.9.0"
	before := p.bridge()
	old := before.hostPID(t)

	p.version = "v1.10.0"
	after := p.bridge()
	next := after.hostPID(t)
	if next == old || next == 0 {
		t.Errorf("the newer release is served by process %d, the older host is %d", next, old)
	}
	wait(t, "the bridge of the older host to end", before.Done())
	before.end()
	log, err := os.ReadFile(filepath.Join(p.data, "host.log"))
	if want := "release v1.10.0 takes the place of v1.9.0"; err != nil || !strings.Contains(string(log), want) {
		t.Errorf("the log of the hosts does not say %q (%v):\n%s", want, err, log)
	}

	p.version = "v1.9.0" // the older client reconnects
	again := p.bridge()
	if pid := again.hostPID(t); pid != next {
		t.Errorf("the older client is served by process %d, want the newer host %d", pid, next)
	}
	again.end()
	stopHost(t, after)
	after.end()
	p.awaitEnd()
}

// If an older host hangs, a newer release cannot start. So the error names the hanging process, which the user can end.
func TestStuckOlderHostIsNamedWithARemedy(t *testing.T) {
	p := newPlace(t)
	stuck, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.socket(), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = (&outdatedError{"v0.9.0", p.Endpoint}).takeOver(ctx)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("asking a host that hangs got %v", err)
	}
	for _, part := range []string{"v0.9.0", rpc.Version, "end its process"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not contain %q", err, part)
		}
	}
}

func TestReleasesAreCompared(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"v1.2.3", "v1.2.4", true},
		{"v1.2.4", "v1.2.3", false},
		{"1.9.0", "v1.10.0", true},
		{"v1.2.3", "v1.2.3", false},
		{"v0.9.9", "v1.0.0", true},
		{"dev", "v1.0.0", false},
		{"v1.0.0", "dev", false},
		{"v1.0.0-20260101000000-abcdefabcdef", "v2.0.0", false},
		{"v1.0", "v2.0.0", false},
	} {
		if got := isOlder(test.a, test.b); got != test.want {
			t.Errorf("isOlder(%q, %q) = %t", test.a, test.b, got)
		}
	}
}

func TestHostEndsWhenIdle(t *testing.T) {
	p := newPlace(t)
	p.idle = 50 * time.Millisecond
	b := p.bridge()
	b.hostPID(t)
	if err := b.end(); err != nil {
		t.Errorf("bridge ended with %v\n%s", err, b.stderr.String())
	}
	p.awaitEnd()
	if _, err := os.Stat(p.socket()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if _, err := Dial(patience(t), p.Endpoint); !errors.Is(err, ErrNoHost) {
		t.Errorf("dialling got %v, want %v", err, ErrNoHost)
	}
}

func TestOnlyThisUserMayConnect(t *testing.T) {
	p := newPlace(t)
	log := p.serveAt(func(l *Listener) { l.uid++ }) // now the socket belongs to another user's host
	c := p.dial()
	if err := c.Call(patience(t), schema.MethodStatus, nil, nil); err == nil {
		t.Error("a foreign user was served")
	}
	if want := fmt.Sprintf("user %d may not speak to the host of user %d", os.Getuid(), os.Getuid()+1); !strings.Contains(log.String(), want) {
		t.Errorf("log does not say %q:\n%s", want, log)
	}
}

func TestSocketIsPrivate(t *testing.T) {
	p := newPlace(t)
	p.serveAt(nil)
	for path, want := range map[string]os.FileMode{p.dir: 0o700, p.socket(): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, error %v, want %v", path, info.Mode().Perm(), err, want)
		}
	}
	mustCall(t, p.dial(), schema.MethodStatus, nil, nil)
}

func TestStaleSocketIsReplaced(t *testing.T) {
	p := newPlace(t)
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.socket(), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	if _, err := Dial(patience(t), p.Endpoint); !errors.Is(err, ErrNoHost) {
		t.Fatalf("dialling a stale socket got %v, want %v", err, ErrNoHost)
	}
	p.serveAt(nil)
	mustCall(t, p.dial(), schema.MethodStatus, nil, nil)
	if _, err := os.Stat(p.tcp()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the host gave up on the socket and listens on TCP: %v", err)
	}
}

func TestSecondHostIsRefused(t *testing.T) {
	p := newPlace(t)
	p.serveAt(nil)
	if _, err := LockHost(patience(t), p.Endpoint); !errors.Is(err, ErrRunning) {
		t.Errorf("got %v, want %v", err, ErrRunning)
	}
	mustCall(t, p.dial(), schema.MethodStatus, nil, nil) // the first host still serves
}

func TestDataDirectoriesHaveHostsOfTheirOwn(t *testing.T) {
	p := newPlace(t)
	other, err := NewEndpoint(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if other.socket() == p.socket() {
		t.Errorf("two data directories share %s", p.socket())
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(p.data, link); err != nil {
		t.Fatal(err)
	}
	same, err := NewEndpoint(link)
	if err != nil {
		t.Fatal(err)
	}
	if same.socket() != p.socket() {
		t.Error("a link to a data directory has a host of its own")
	}
}

func TestWithoutSocketsATokenIsNeeded(t *testing.T) {
	p := newPlace(t)
	t.Setenv("MAGICCTX_NO_SOCKETS", "1")
	p.serveAt(nil)
	mustCall(t, p.dial(), schema.MethodStatus, nil, nil)

	content, err := os.ReadFile(p.tcp())
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(p.tcp()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("token file: mode %v, error %v, want 0600", info.Mode(), err)
	}
	var at tcpAddress
	if err := json.Unmarshal(content, &at); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(at.Address, "127.0.0.1:") || len(at.Token) != 64 {
		t.Errorf("token file says %+v", at)
	}
	conn, err := net.Dial("tcp", at.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	nonce := newNonce()
	if _, err := io.WriteString(conn, nonce); err != nil {
		t.Fatal(err)
	}
	hostNonce, err := readHex(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readHex(conn); err != nil { // read the host's proof first
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, proof("a guessed token", "client", nonce, hostNonce)); err != nil {
		t.Fatal(err)
	}
	intruder := rpc.NewClient(conn, nil, nil)
	defer intruder.Close(context.Background())
	if err := intruder.Call(patience(t), schema.MethodStatus, nil, nil); err == nil {
		t.Error("a client with a wrong token was served")
	}
}

func TestForeignRuntimeDirectoryIsRefused(t *testing.T) {
	base := t.TempDir()
	for name, prepare := range map[string]func(path string) error{
		"readable by others": func(path string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o755)) },
		"link":               func(path string) error { return os.Symlink(t.TempDir(), path) },
		"file":               func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		path := filepath.Join(base, strings.ReplaceAll(name, " ", "-"))
		if err := prepare(path); err != nil {
			t.Fatal(err)
		}
		if _, err := privateDir(path); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	path := filepath.Join(base, "new")
	for range 2 { // the first call creates the directory, the second one finds it
		if got, err := privateDir(path); err != nil || got != path {
			t.Errorf("own directory: %q, %v", got, err)
		}
	}
}

func TestHostThatCannotStartIsReported(t *testing.T) {
	p := newPlace(t)
	_, err := Connect(patience(t), p.Endpoint, func() (<-chan error, error) {
		return Spawn(os.Args[0], []string{"-no-such-flag"}, filepath.Join(p.data, "host.log"))
	})
	if err == nil || !strings.Contains(err.Error(), "the host ended at its start: exit status 2") {
		t.Errorf("got %v", err)
	}
	log, err := os.ReadFile(filepath.Join(p.data, "host.log"))
	if err != nil || !strings.Contains(string(log), "no-such-flag") {
		t.Errorf("log of the host is %q, error %v", log, err)
	}
}

func TestHostWaitsForItsClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = time.Second
		fired := make(chan time.Time, 1)
		timer := newIdleTimer(idle, func() { fired <- time.Now() })
		defer timer.stop()
		time.Sleep(firstClientTimeout - 1) // the client that started the host is slow
		timer.enter()
		timer.enter()
		time.Sleep(time.Hour)
		timer.leave()
		time.Sleep(time.Hour)
		timer.leave()
		time.Sleep(idle - 1)
		timer.enter() // just in time
		timer.leave()
		left := time.Now()
		if got := (<-fired).Sub(left); got != idle {
			t.Errorf("fired %v after the last client left, want %v", got, idle)
		}
	})
}

func TestHostWithoutAnyClientEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		fired := make(chan struct{})
		newIdleTimer(time.Second, func() { close(fired) })
		<-fired
		if got := time.Since(start); got != firstClientTimeout {
			t.Errorf("fired after %v, want %v", got, firstClientTimeout)
		}
	})
}
