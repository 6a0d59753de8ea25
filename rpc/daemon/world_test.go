package daemon

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
)

func TestMain(m *testing.M) {
	if role := roleOfThisProcess(); role != nil {
		role()
		return
	}
	goleak.VerifyTestMain(m)
}

// The daemon tests start this test binary as host and as bridge.
const (
	envRole    = "RPC_TEST_ROLE"
	envData    = "RPC_TEST_DATA"
	envIdle    = "RPC_TEST_IDLE"
	envVersion = "RPC_TEST_VERSION"
)

func roleOfThisProcess() func() {
	switch os.Getenv(envRole) {
	case "host":
		return func() { exitWith(beHost()) }
	case "bridge":
		return func() { exitWith(beBridge()) }
	}
	return nil
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func beHost() error {
	rpc.Version = cmp.Or(os.Getenv(envVersion), rpc.Version)
	ctx := context.Background()
	e, err := NewEndpoint(os.Getenv(envData))
	if err != nil {
		return err
	}
	lock, err := LockHost(ctx, e)
	if err != nil {
		return err
	}
	defer lock.Release()
	l, err := lock.Listen(ctx)
	if err != nil {
		return err
	}
	idle, err := time.ParseDuration(os.Getenv(envIdle))
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	return Serve(ctx, rpc.NewServer(rpc.Always(quietHost{}), rpc.Options{Log: log}), l, ServeOptions{Log: log, Idle: idle})
}

func beBridge() error {
	rpc.Version = cmp.Or(os.Getenv(envVersion), rpc.Version)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	dataDir := os.Getenv(envData)
	e, err := NewEndpoint(dataDir)
	if err != nil {
		return err
	}
	host, err := Connect(ctx, e, func() (<-chan error, error) {
		// A bridge appends one line to this file for each host that it starts.
		starts, err := os.OpenFile(filepath.Join(dataDir, "starts"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		defer starts.Close()
		if _, err := fmt.Fprintln(starts, "start"); err != nil {
			return nil, err
		}
		os.Setenv(envRole, "host")
		return Spawn(os.Args[0], nil, filepath.Join(dataDir, "host.log"))
	})
	if err != nil {
		return err
	}
	return Bridge(context.Background(), stdio{}, host, nil)
}

type stdio struct{}

func (stdio) Read(p []byte) (int, error)  { return os.Stdin.Read(p) }
func (stdio) Write(p []byte) (int, error) { return os.Stdout.Write(p) }

// A place is a data directory with a runtime directory. At the end of the test, place stops its host.
type place struct {
	t    testing.TB
	data string
	idle time.Duration
	// version is the release that the next bridge and its host pretend to be.
	version string
	Endpoint
}

func newPlace(t testing.TB) *place {
	t.Helper()
	// The path of a socket has at most about 100 bytes, and t.TempDir may be longer.
	runtime, err := os.MkdirTemp("", "rpc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(runtime) })
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	p := &place{t: t, data: t.TempDir(), idle: time.Minute}
	if p.Endpoint, err = NewEndpoint(p.data); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *place) awaitEnd() {
	p.t.Helper()
	unlock, err := lock(patience(p.t), p.hostLock())
	if err != nil {
		p.t.Fatalf("the host does not end: %v", err)
	}
	unlock()
}

type bridge struct {
	*rpc.Client
	cmd    *exec.Cmd
	stderr strings.Builder
	stdin  io.Closer
}

type processPipe struct {
	io.Reader
	io.WriteCloser
}

func (p *place) bridge() *bridge {
	p.t.Helper()
	b := &bridge{cmd: exec.Command(os.Args[0])}
	b.cmd.Env = append(os.Environ(), envRole+"=bridge", envData+"="+p.data, envIdle+"="+p.idle.String(), envVersion+"="+p.version)
	b.cmd.Stderr = &b.stderr
	stdin, err := b.cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	stdout, err := b.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	b.stdin = stdin
	b.Client = rpc.NewClient(processPipe{stdout, stdin}, nil, nil)
	return b
}

func (b *bridge) hostPID(t testing.TB) int {
	t.Helper()
	var st schema.StatusResult
	if err := b.Call(patience(t), schema.MethodStatus, nil, &st); err != nil {
		t.Errorf("status: %v\n%s", err, b.stderr.String())
	}
	return st.PID
}

func (b *bridge) end() error {
	b.Close(context.Background())
	return b.cmd.Wait()
}

func stopHost(t testing.TB, b *bridge) {
	t.Helper()
	if err := b.Call(patience(t), schema.MethodShutdown, schema.ShutdownParams{Host: true}, nil); err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

func (p *place) serveAt(change func(*Listener)) *logBuffer {
	p.t.Helper()
	lock, err := LockHost(patience(p.t), p.Endpoint)
	if err != nil {
		p.t.Fatal(err)
	}
	l, err := lock.Listen(patience(p.t))
	if err != nil {
		p.t.Fatal(err)
	}
	if change != nil {
		change(l)
	}
	log := &logBuffer{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	server := rpc.NewServer(rpc.Always(quietHost{}), rpc.Options{Log: logger})
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, server, l, ServeOptions{Log: logger}) }()
	p.t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			p.t.Errorf("serve: %v", err)
		}
		lock.Release()
	})
	return log
}

func (p *place) dial() *rpc.Client {
	p.t.Helper()
	conn, err := Dial(patience(p.t), p.Endpoint)
	if err != nil {
		p.t.Fatal(err)
	}
	c := rpc.NewClient(conn, nil, nil)
	p.t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// A quietHost answers with zero values. The tests call only the methods that it defines.
type quietHost struct{ rpc.Host }

func (quietHost) Initialize(context.Context, client.Client, schema.InitializeParams) (r schema.InitializeResult, err error) {
	return r, nil
}

func (quietHost) Transform(context.Context, client.Client, schema.TransformParams) (r schema.WireMutation, err error) {
	return r, nil
}

func (quietHost) Status(context.Context, client.Client, schema.StatusParams) (r schema.StatusResult, err error) {
	return r, nil
}

func (quietHost) Disconnected(client.Client) {}

type logBuffer struct {
	mu sync.Mutex // guards b
	b  strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// patience bounds waits of tests that would otherwise hang.
func patience(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func mustCall(t testing.TB, c *rpc.Client, method string, params, result any) {
	t.Helper()
	if err := c.Call(patience(t), method, params, result); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

func wait(t testing.TB, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-patience(t).Done():
		t.Fatalf("waited in vain for: %s", what)
	}
}
