package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/observer"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/rpc/daemon"
	"github.com/magicctx/magicctx-host/schema"
)

// A user may leave every session of several weeks open.
const manyClients = 200

func connectMany(t testing.TB, e daemon.Endpoint) []*rpc.Client {
	t.Helper()
	clients := make([]*rpc.Client, manyClients)
	for i := range clients {
		client, err := dialHarness(t.Context(), e, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close(context.Background()) })
		clients[i] = client
	}
	return clients
}

// stuckHost blocks in every pass until the test releases it.
type stuckHost struct {
	fakeHost
	began   chan string
	release chan struct{}
}

func (h stuckHost) Transform(_ context.Context, _ client.Client, p schema.TransformParams) (schema.WireMutation, error) {
	h.began <- p.Session
	<-h.release
	return schema.WireMutation{}, nil
}

// status must be fast even if all sessions are running passes or waiting for one.
func TestStatusAnswersWhileEveryLaneIsBlocked(t *testing.T) {
	r := newRig(t)
	h := stuckHost{newFake(), make(chan string, manyClients), make(chan struct{})}
	defer r.serve(h)()
	var passes sync.WaitGroup
	for i, client := range connectMany(t, r.endpoint) {
		passes.Go(func() {
			params := schema.TransformParams{Session: fmt.Sprint("s", i), Directory: "/p"}
			if err := client.CallWithAttachment(t.Context(), schema.MethodTransform, params, []byte("[]"), nil); err != nil {
				t.Errorf("pass: %v", err)
			}
		})
	}
	for range 64 { // package rpc runs at most 64 passes at the same time
		<-h.began
	}
	st, err := observer.Status(t.Context(), r.endpoint)
	if err != nil {
		t.Fatal(err)
	}
	if len(st.Clients) != manyClients+1 {
		t.Errorf("%d clients, want %d and the one that asks", len(st.Clients), manyClients)
	}
	close(h.release)
	passes.Wait()
}

// The process that listens on the socket may be a broken host, or not a host at all. In both cases, `status` must say
// that the host does not answer.
func TestStatusSaysThatTheHostDoesNotAnswer(t *testing.T) {
	r := newRig(t)
	l, err := net.Listen("unix", r.endpoint.String())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "Segmentation fault\r\n\r\n")
			defer conn.Close()
		}
	}()
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"status", "--data-dir", r.dir}, nil, &out, &errs, newFakeHost); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(errs.String(), "does not answer") || !strings.Contains(errs.String(), program.Name()+" doctor") {
		t.Errorf("told: %s", &errs)
	}
	t.Log(&errs)
}

// The session id is the same in both harnesses.
type twoHarnesses struct{ fakeHost }

func (h twoHarnesses) Status(ctx context.Context, c client.Client, p schema.StatusParams) (schema.StatusResult, error) {
	st, err := h.fakeHost.Status(ctx, c, p)
	st.Sessions = append(st.Sessions,
		schema.SessionStatus{Harness: schema.HarnessPi, Session: "ses_1"}, schema.SessionStatus{Harness: schema.HarnessPi, Session: "only-pi"},
		schema.SessionStatus{Harness: schema.HarnessOpenCode2, Session: "upgraded"}, schema.SessionStatus{Harness: schema.HarnessOpenCode, Session: "upgraded"})
	return st, err
}

// unknownSession is an error with the same code as the error of a real host that does not know a session.
type unknownSession struct{}

func (unknownSession) Error() string { return "the host's own words" }
func (unknownSession) RPCCode() int  { return -32602 }

// SessionStatus also knows one old session, which Status does not list.
func (h twoHarnesses) SessionStatus(ctx context.Context, c client.Client, p schema.SessionStatusParams) (schema.SessionStatus, error) {
	if p.Session == "broken" {
		return schema.SessionStatus{}, errors.New("the store is gone")
	}
	all, _ := h.Status(ctx, c, schema.StatusParams{})
	all.Sessions = append(all.Sessions, schema.SessionStatus{Harness: schema.HarnessPi, Session: "old-pi"},
		schema.SessionStatus{Harness: schema.HarnessOpenCode, Session: "old-upgraded", LastPassAt: 1}, schema.SessionStatus{Harness: schema.HarnessOpenCode2, Session: "old-upgraded", LastPassAt: 2})
	for _, st := range all.Sessions {
		if st.Harness == p.Harness && st.Session == p.Session {
			return st, nil
		}
	}
	return schema.SessionStatus{}, unknownSession{}
}

// Two harnesses may have different sessions with the same id. Then the user must name the harness. But the two versions
// of OpenCode share their sessions, so there the user need not choose.
func TestStatusOfEqualIDs(t *testing.T) {
	r := newRig(t)
	defer r.serve(twoHarnesses{newFake()})()
	for _, test := range []struct {
		args     []string
		out, err string // patterns, each of which must match a line
	}{
		{[]string{"ses_1"}, "", `opencode and pi both have a session "ses_1"; say which one you mean: --harness opencode, or --harness pi`},
		{[]string{"ses_1", "--json"}, "", `both have a session`},
		{[]string{"ses_1", "--harness", "pi", "--json"}, `"harness": "pi"`, ""},
		{[]string{"upgraded", "--json"}, `"harness": "opencode2"`, ""},
		{[]string{"upgraded", "--harness", "opencode", "--json"}, `"harness": "opencode"`, ""},
		{[]string{"old-upgraded", "--json"}, `"harness": "opencode2"`, ""},
		{[]string{"ses_1", "--harness", "opencode", "--json"}, `"harness": "opencode"`, ""},
		{[]string{"ses_1", "--harness", "pi"}, `(?m)^ .* · pi`, ""},
		{[]string{"only-pi", "--json"}, `"session": "only-pi"`, ""},
		{[]string{"y-pi"}, ` · pi`, ""},
		{[]string{"only-pi", "--harness", "opencode"}, "", `^magicctx-host: opencode has no session "only-pi"; ` + regexp.QuoteMeta(program.Name()) + ` status lists the newest, on a wide terminal and with --json also their ids\n$`},
		{[]string{"old-pi", "--json"}, `"session": "old-pi"`, ""},
		{[]string{"none"}, "", `^magicctx-host: no session "none"; ` + regexp.QuoteMeta(program.Name()) + ` status lists the newest, on a wide terminal and with --json also their ids\n$`},
		{[]string{"broken"}, "", `^magicctx-host: ask for session broken: .*the store is gone`},
		{nil, `(?m)^ SESSION +HARNESS`, ""},
		{[]string{"--harness", "pi"}, `(?m)^ +ses_1 +pi +[\s\S]*only-pi +pi`, ""},
		{[]string{"--harness", "vim"}, "", `--harness must be one of "opencode","opencode2","pi" but got "vim"`},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(t.Context(), append([]string{"status", "--data-dir", r.dir}, test.args...), nil, &out, &errs, newFakeHost)
			if (code != 0) != (test.err != "") || !regexp.MustCompile(test.err).MatchString(errs.String()) || !regexp.MustCompile(test.out).MatchString(out.String()) {
				t.Errorf("exit code %d\n%s\n%s\nwant %q, %q", code, &out, &errs, test.out, test.err)
			}
		})
	}
}

// The benchmark measures status while a real host with 200 clients repeatedly resyncs a session of 5,000 messages.
func BenchmarkStatusDuringResync(b *testing.B) {
	r := newRig(b)
	startRealHost(b, r)
	connectMany(b, r.endpoint)
	worker, err := dialHarness(b.Context(), r.endpoint, func(context.Context, string, json.Value) (any, error) {
		return schema.ModelLimits{ContextTokens: 200_000}, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	defer worker.Close(context.Background())
	array := longSession(5000)
	resync := func() {
		params := schema.TransformParams{Session: "s", Directory: "/p"}
		if err := worker.CallWithAttachment(b.Context(), schema.MethodTransform, params, array, nil); err != nil {
			b.Error(err)
		}
	}
	resync()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				resync()
			}
		}
	}()
	var elapsed []time.Duration
	for b.Loop() {
		start := time.Now()
		if st, err := observer.Status(b.Context(), r.endpoint); err != nil || len(st.Clients) < manyClients+2 {
			b.Fatal(len(st.Clients), err)
		}
		elapsed = append(elapsed, time.Since(start))
	}
	close(stop)
	<-stopped
	slices.Sort(elapsed)
	b.ReportMetric(float64(elapsed[len(elapsed)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(elapsed[len(elapsed)*95/100].Microseconds())/1000, "p95-ms")
	b.ReportMetric(float64(elapsed[len(elapsed)-1].Microseconds())/1000, "max-ms")
}

func startRealHost(t testing.TB, r *rig) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args = []string{"real-host", "serve", "--data-dir", r.dir, "--log-level", "warn"}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) { // it listens only when it can serve
		client, err := observer.Greet(t.Context(), r.endpoint, nil)
		if err == nil {
			client.Close(t.Context())
			return
		}
		if !errors.Is(err, daemon.ErrNoHost) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func longSession(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`[{"info":{"id":"m0","sessionID":"s","role":"user","time":{"created":1},"model":{"providerID":"anthropic","modelID":"m"}},"parts":[{"id":"p0","type":"text","text":"go"}]}`)
	for i := 1; i <= n; i++ {
		output, _ := json.Marshal(strings.Repeat(fmt.Sprintf("line %d of the output, as code may look\n", i), 150))
		fmt.Fprintf(&b, `,{"info":{"id":"m%[1]d","sessionID":"s","role":"assistant","time":{"created":1,"completed":2},"providerID":"anthropic","modelID":"m","finish":"tool-calls",`+
			`"tokens":{"input":1000,"output":1,"cache":{"read":0,"write":0}}},"parts":[{"id":"p%[1]d","type":"tool","callID":"c%[1]d","tool":"read",`+
			`"state":{"status":"completed","input":{"f":"x"},"output":%[2]s}}]}`, i, output)
	}
	b.WriteString("]")
	return b.Bytes()
}

// Two builds may have the same version, so OtherProgram also compares the hashes of the programs.
func TestStatusNamesTheHostOfAnotherBuild(t *testing.T) {
	host := schema.StatusResult{PID: 4711, Version: rpc.Version, ProgramHash: program.Hash()}
	if got := observer.OtherProgram(host); len(got) > 0 {
		t.Errorf("the same program: %+v", got)
	}
	host.ProgramHash = "that of the program before the update"
	if got := observer.OtherProgram(host); len(got) != 1 || !strings.Contains(got[0].Message, "another build") || !strings.Contains(got[0].Message, "end process 4711") {
		t.Errorf("another program: %+v", got)
	}
	if got := observer.OtherProgram(schema.StatusResult{Version: rpc.Version}); len(got) > 0 {
		t.Errorf("the last known sessions: %+v", got)
	}
}
