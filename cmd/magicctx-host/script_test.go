package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"magicctx-host": func() {
			ctx, stop := signalled()
			defer stop()
			os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, newFakeHost))
		},
		"real-host": func() {
			ctx, stop := signalled()
			defer stop()
			os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, newHost))
		},
		"talk": func() { os.Exit(talk(os.Args[1:])) },
	})
}

// TestScripts runs the scripts in testdata/script. The command line is real, but the host is a fake.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			// A Unix socket allows only a short path, and the test's work directory may be too long.
			runtime, err := os.MkdirTemp("", "mch")
			if err != nil {
				return err
			}
			e.Defer(func() { os.RemoveAll(runtime) })
			e.Setenv("XDG_RUNTIME_DIR", runtime)
			e.Setenv("MAGIC_CONTEXT_DATA_DIR", filepath.Join(e.WorkDir, "data"))
			traces, err := filepath.Abs("../../testdata/traces")
			if err != nil {
				return err
			}
			e.Setenv("TRACES", traces)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"await-host":  awaitHost,
			"await-line":  awaitLine,
			"cat-traces":  catTraces,
			"exits":       exits,
			"signal-host": signalHost,
		},
	})
}

// [!] await-host, where ! waits until no host answers
func awaitHost(ts *testscript.TestScript, neg bool, _ []string) {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		err := ts.Exec("magicctx-host", "status")
		if (err == nil) != neg {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("status still ends with %v", err)
		}
	}
}

// await-line TEXT FILE waits until FILE contains TEXT. A host writes its last line only after it has closed its socket,
// so a script has to wait for this line.
func awaitLine(ts *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if strings.Contains(ts.ReadFile(args[1]), args[0]) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s does not say %q", args[1], args[0])
		}
	}
}

func catTraces(ts *testscript.TestScript, _ bool, _ []string) {
	files, err := filepath.Glob(filepath.Join(ts.Getenv("MAGICCTX_TRACE"), "*.jsonl"))
	ts.Check(err)
	for _, f := range files {
		fmt.Fprint(ts.Stdout(), ts.ReadFile(f))
	}
}

// exits CODE PROGRAM ARGS...
func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("ended with %d", code)
	}
}

func signalHost(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("magicctx-host", "status", "--json"))
	var st schema.StatusResult
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &st))
	process, err := os.FindProcess(st.PID)
	ts.Check(err)
	ts.Check(process.Signal(map[string]os.Signal{"HUP": syscall.SIGHUP, "TERM": syscall.SIGTERM}[args[0]]))
}

// fakeHost answers without a store. A pass of the session "crash" panics.
type fakeHost struct {
	rpc.Host
	subscribers *sync.Map // the keys have type client.Client; if the map is nil, the host announces nothing
}

func newFakeHost(_ context.Context, o hostOptions) (rpc.Provider, func(), error) {
	if _, err := os.Stat(filepath.Join(o.DataDir, "broken")); err == nil {
		return nil, nil, errors.New("the database is newer than this program")
	}
	return rpc.Always(fakeHost{subscribers: new(sync.Map)}), func() { o.Log.Info("store closed") }, nil
}

func (fakeHost) Initialize(context.Context, client.Client, schema.InitializeParams) (schema.InitializeResult, error) {
	return schema.InitializeResult{Enabled: true}, nil
}

func (h fakeHost) Transform(_ context.Context, _ client.Client, p schema.TransformParams) (schema.WireMutation, error) {
	if p.Session == "crash" {
		panic("crash")
	}
	if h.subscribers != nil {
		all, _ := h.Status(context.Background(), nil, schema.StatusParams{})
		st := all.Sessions[0]
		st.Session, st.Passes = p.Session, st.Passes+1
		encoded, _ := json.Marshal(st)
		h.subscribers.Range(func(c, _ any) bool {
			c.(client.Client).SessionChanged(encoded)
			return true
		})
	}
	return schema.WireMutation{Revision: p.Base + 1, Verdict: schema.Steady, Start: len(p.Messages)}, nil
}

func (fakeHost) Status(context.Context, client.Client, schema.StatusParams) (schema.StatusResult, error) {
	return schema.StatusResult{
		Database: "magicctx.db", StoreSchema: 7, Enabled: true,
		Sessions: []schema.SessionStatus{{
			Harness: schema.HarnessOpenCode, Session: "ses_1", Model: schema.Model{Provider: "anthropic", ID: "opus"},
			Pressure: 0.61, InputTokens: 122_000, ContextTokens: 200_000, Passes: 12, Busts: 2, LastVerdict: schema.Soft, LastCause: "high-water",
			CacheRead: 90_000, CacheWrite: 10_000, CacheHitRate: 0.9, Queued: 3, BustCauses: []schema.CauseCount{{Cause: "threshold", Count: 2}},
			Tokens: schema.TokensBySource{System: 11_000, Text: 38_000, ToolInputs: 9_000, ToolResults: 61_000, Dropped: 212_000},
		}},
	}, nil
}

func (h fakeHost) SessionStatus(ctx context.Context, c client.Client, p schema.SessionStatusParams) (schema.SessionStatus, error) {
	all, err := h.Status(ctx, c, schema.StatusParams{})
	st := all.Sessions[0]
	if p.Session != st.Session {
		return st, fmt.Errorf("session %q of %s is unknown", p.Session, p.Harness)
	}
	if p.Dropped {
		st.DroppedUnits = []schema.DroppedUnit{{Tag: 12, Kind: "tool", Tool: "read", About: "main.go", Tokens: 2100, Pass: 7, Rule: "queued drops"}}
	}
	return st, err
}

func (h fakeHost) SessionExport(context.Context, client.Client, schema.SessionExportParams) (schema.SessionExport, error) {
	return schema.SessionExport{Config: json.Value(`{}`), Tables: []schema.ExportedTable{}}, nil
}

func (h fakeHost) Subscribe(_ context.Context, c client.Client, _ schema.SubscribeParams) (schema.Empty, error) {
	h.subscribers.Store(c, nil)
	return schema.Empty{}, nil
}

func (h fakeHost) Disconnected(c client.Client) {
	if h.subscribers != nil {
		h.subscribers.Delete(c)
	}
}

// talk [-stop] PROGRAM ARGS... plays the harness. It prints the answers of the program, and exits with the program's
// exit code. With -stop, talk asks the host to stop.
func talk(args []string) int {
	stop := args[0] == "-stop"
	if stop {
		args = args[1:]
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	stdin, inErr := cmd.StdinPipe()
	stdout, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	client := rpc.NewClient(struct {
		io.Reader
		io.WriteCloser
	}{stdout, stdin}, nil, nil)
	if err := converse(ctx, os.Stdout, client, stop); err != nil {
		fmt.Println("error:", err)
	}
	client.Close(ctx)
	if err := cmd.Wait(); err != nil {
		fmt.Println("ended with", err)
		return 1
	}
	return 0
}

func converse(ctx context.Context, out io.Writer, client *rpc.Client, stop bool) error {
	var hello schema.InitializeResult
	err := client.Call(ctx, schema.MethodInitialize, schema.InitializeParams{
		Protocol: schema.Version{Major: schema.ProtocolMajor}, Client: "talk", ClientVersion: "1.2.3",
		Harness: schema.HarnessOpenCode, Directory: "/home/u/project", PID: os.Getpid(),
	}, &hello)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "initialized: protocol %d.%d, enabled %t\n", hello.Protocol.Major, hello.Protocol.Minor, hello.Enabled)
	for _, session := range []string{"ses_1", "crash"} {
		var m schema.WireMutation
		err := client.CallWithAttachment(ctx, schema.MethodTransform,
			schema.TransformParams{Session: session, Directory: "/home/u/project", Base: 4}, []byte(`["hello"]`), &m)
		if err != nil {
			fmt.Fprintln(out, "pass failed:", err)
			continue
		}
		fmt.Fprintf(out, "pass: revision %d, %s, %d bytes arrived\n", m.Revision, m.Verdict, m.Start)
	}
	if stop {
		return client.Call(ctx, schema.MethodShutdown, schema.ShutdownParams{Host: true}, nil)
	}
	return nil
}

// The pass still finishes, and its answer is sent.
func TestSoloFinishesThePassWhenToldToEnd(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	closed := false
	build := func(context.Context, hostOptions) (rpc.Provider, func(), error) {
		return rpc.Always(slowHost{began: began, release: release}), func() { closed = true }, nil
	}
	stdinR, stdinW := io.Pipe()
	stdoutR, stdoutW := io.Pipe()
	var stderr strings.Builder
	ctx, term := context.WithCancel(context.Background())
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"stdio", "--solo", "--data-dir", t.TempDir()}, stdinR, stdoutW, &stderr, build)
	}()
	client := rpc.NewClient(struct {
		io.Reader
		io.WriteCloser
	}{stdoutR, stdinW}, nil, nil)
	answer := make(chan error, 1)
	var said strings.Builder
	go func() { answer <- converse(context.Background(), &said, client, false) }()
	<-began
	term()
	close(release)
	// The first pass must be answered. The second pass is sent too late, so its failure is no error.
	if err := <-answer; err != nil || !strings.Contains(said.String(), "pass: revision") {
		t.Errorf("%v; the client got\n%s", err, &said)
	}
	if got := <-code; got != exitOK {
		t.Errorf("exit code %d, want %d\n%s", got, exitOK, &stderr)
	}
	if !closed {
		t.Error("the store was not closed")
	}
	client.Close(context.Background())
}

type slowHost struct {
	fakeHost
	began, release chan struct{}
}

func (h slowHost) Transform(ctx context.Context, c client.Client, p schema.TransformParams) (schema.WireMutation, error) {
	if p.Session == "ses_1" {
		close(h.began)
		<-h.release
	}
	return schema.WireMutation{}, nil
}
