package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/rpc/daemon"
	"github.com/magicctx/magicctx-host/schema"
)

// A rig has a data directory in which a test starts and stops hosts.
type rig struct {
	t        testing.TB
	dir      string
	endpoint daemon.Endpoint
}

func newRig(t testing.TB) *rig {
	t.Helper()
	runtime, err := os.MkdirTemp("", "mch") // a Unix socket allows only a short path, and the test's own directory may be too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(runtime) })
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	r := &rig{t: t, dir: t.TempDir()}
	if r.endpoint, err = daemon.NewEndpoint(r.dir); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) serve(h rpc.Host) (stop func()) {
	r.t.Helper()
	lock, err := daemon.LockHost(r.t.Context(), r.endpoint)
	if err != nil {
		r.t.Fatal(err)
	}
	l, err := lock.Listen(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = daemon.Serve(ctx, rpc.NewServer(rpc.Always(h), rpc.Options{Grace: time.Millisecond}), l, daemon.ServeOptions{})
		lock.Release()
	}()
	return sync.OnceFunc(func() { cancel(); <-served })
}

func (r *rig) pass(session string) {
	r.t.Helper()
	client, err := dialHarness(r.t.Context(), r.endpoint, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	defer client.Close(r.t.Context())
	params := schema.TransformParams{Session: session, Directory: "/p"}
	if err := client.CallWithAttachment(r.t.Context(), schema.MethodTransform, params, []byte("[]"), nil); err != nil {
		r.t.Fatal(err)
	}
}

func dialHarness(ctx context.Context, e daemon.Endpoint, handler rpc.Handler) (*rpc.Client, error) {
	conn, err := daemon.Dial(ctx, e)
	if err != nil {
		return nil, err
	}
	client := rpc.NewClient(conn, handler, nil)
	return client, client.Call(ctx, schema.MethodInitialize, schema.InitializeParams{
		Protocol: schema.Version{Major: schema.ProtocolMajor}, Client: "test", Harness: schema.HarnessOpenCode, Directory: "/p",
	}, nil)
}

func newFake() fakeHost { return fakeHost{subscribers: new(sync.Map)} }

func TestWatchAsJSONPrintsALineForEachChange(t *testing.T) {
	r := newRig(t)
	out, w := io.Pipe()
	said, says := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"status", "--watch", "--json", "--data-dir", r.dir}, nil, w, says, nil)
		w.Close()
	}()
	lines := bufio.NewScanner(out)
	next := func(what string) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("no line for %s", what)
		}
		var st schema.StatusResult
		if err := json.Unmarshal(lines.Bytes(), &st); err != nil || len(st.Sessions) != 1 {
			t.Fatalf("line for %s: %v\n%s", what, err, lines.Bytes())
		}
	}
	waits := bufio.NewScanner(said)
	if !waits.Scan() || !strings.HasSuffix(waits.Text(), "waiting for a host, which starts with the first session") {
		t.Errorf("without a host it says %q", waits.Text())
	}
	go io.Copy(io.Discard, said)
	end := r.serve(newFake()) // the watch has started before the host
	next("the host")
	r.pass("ses_1")
	next("the pass")
	end()
	defer r.serve(newFake())()
	next("the host that took its place")
	stop()
	if lines.Scan() {
		t.Errorf("another line: %s", lines.Bytes())
	}
	if got := <-code; got != exitOK {
		t.Errorf("exit code %d", got)
	}
}

func TestWatchForAScreenReader(t *testing.T) {
	r := newRig(t)
	out, w := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"status", "--watch", "--plain", "--data-dir", r.dir}, nil, w, io.Discard, nil)
		w.Close()
	}()
	lines := bufio.NewScanner(out)
	until := func(part string) {
		t.Helper()
		for lines.Scan() {
			if strings.ContainsAny(lines.Text(), "\x1b│█▓") {
				t.Errorf("drawn: %q", lines.Text())
			}
			if strings.Contains(lines.Text(), part) {
				return
			}
		}
		t.Fatalf("no line with %q", part)
	}
	end := r.serve(newFake())
	until("122k of 200k tokens (61%)")
	until(" AGO")
	end()
	until("The host does not answer")
	defer r.serve(newFake())()
	until("The host answers again.")
	r.pass("ses_1")
	r.pass("ses_new")
	stop()
	for lines.Scan() {
	}
	if got := <-code; got != exitOK {
		t.Errorf("exit code %d", got)
	}
}

func TestWatchWantsATerminal(t *testing.T) {
	var stderr strings.Builder
	code := run(t.Context(), []string{"status", "--watch", "--data-dir", newRig(t).dir}, strings.NewReader(""), io.Discard, &stderr, nil)
	if code != exitFailed || !strings.Contains(stderr.String(), "--watch --json") {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
}

// An error may quote a name that somebody else has chosen. Escape sequences in
// it must not reach the terminal.
func TestErrorsReachNoTerminalUnchecked(t *testing.T) {
	for _, args := range [][]string{
		{"status", "--data-dir", filepath.Join(newRig(t).dir, "a\x1b[2Jb\u202e")},
		{"replay", "a\x1b[2Jb\u202e"},
	} {
		var stderr strings.Builder
		if code := run(t.Context(), args, strings.NewReader(""), io.Discard, &stderr, nil); code == exitOK {
			t.Errorf("%q succeeded", args)
		}
		if got := stderr.String(); format.CleanLines(got) != got || !strings.Contains(got, "ab") {
			t.Errorf("%q printed %q", args, got)
		}
	}
}
