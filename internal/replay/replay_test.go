package replay

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/rpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const traces = "../../testdata/traces"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func plain(t *testing.T, name string) [][]byte {
	t.Helper()
	f, err := os.Open(filepath.Join(traces, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.SplitAfter(bytes.TrimSuffix(content, []byte("\n")), []byte("\n"))
}

// These sessions ran in a real OpenCode. Their replay must have no bust without a reason.
func TestRecordedSessionsReplayClean(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(traces, "*.jsonl.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			done := 0
			report, err := Run(t.Context(), f, Options{Progress: func(n, all int) { done = max(done, n*100/all) }})
			if err != nil {
				t.Fatal(err)
			}
			s := report.Summary()
			if !s.IsClean() {
				t.Errorf("%d unexplained busts, %v, %v, %v", s.UnexplainedBusts, s.InvariantViolations, s.ValidatorHits, s.Overflows)
			}
			transforms := 0
			for _, line := range readSteps(t, file) {
				if line.method == "session/transform" {
					transforms++
				}
			}
			if s.Passes != transforms || transforms == 0 {
				t.Errorf("%d passes of %d recorded ones", s.Passes, transforms)
			}
			if s.Tokens.Read == 0 || s.Bill <= 0 || s.RawBill <= 0 {
				t.Errorf("nothing was billed: %+v, %v, %v", s.Tokens, s.Bill, s.RawBill)
			}
			if done != 100 {
				t.Errorf("progress ended at %d %%", done)
			}
		})
	}
}

func readSteps(t *testing.T, file string) []step {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	trace, err := read(f)
	if err != nil {
		t.Fatal(err)
	}
	return trace.steps
}

// If a program is killed, its trace ends with half a line. The replay uses the part before that line.
func TestTornTraceIsReplayedAsFarAsItGoes(t *testing.T) {
	lines := plain(t, "short.jsonl.gz")
	whole := bytes.Join(lines, nil)
	last := lines[len(lines)-1]
	all := passes(t, whole)
	torn := passes(t, whole[:len(whole)-len(last)/2])
	if torn != all && torn != all-1 {
		t.Errorf("%d passes without half a line, %d with it", torn, all)
	}
	half := bytes.Join(lines[:len(lines)/2], nil)
	if got := passes(t, append(half, lines[len(lines)/2][:20]...)); got == 0 || got >= all {
		t.Errorf("half of the trace has %d of %d passes", got, all)
	}
	zipped, err := os.ReadFile(filepath.Join(traces, "short.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if got := passes(t, zipped[:len(zipped)*3/4]); got == 0 || got > all {
		t.Errorf("three quarters of the file have %d of %d passes", got, all)
	}
}

func passes(t *testing.T, trace []byte) int {
	t.Helper()
	report, err := Run(t.Context(), bytes.NewReader(trace), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := report.Summary()
	if !s.IsClean() {
		t.Errorf("not clean: %+v", s)
	}
	return s.Passes
}

const (
	hello = `{"at":1000,"from":"shim","body":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":{"major":1,"minor":0},"client":"t","clientVersion":"1","harness":"opencode","pid":1,"directory":"/p","worktree":"/p"}}}` + "\n"
	first = `{"at":2000,"from":"shim","body":{"jsonrpc":"2.0","id":2,"method":"session/transform","params":{"session":"s","directory":"/p","base":0,"keep":0}},"attachment":[{"info":{"id":"u1","sessionID":"s","role":"user","time":{"created":1},"model":{"providerID":"anthropic","modelID":"m"}},"parts":[{"id":"p","type":"text","text":"hi"}]}]}` + "\n"
)

func TestFileThatIsNoTraceIsRefused(t *testing.T) {
	for _, c := range []struct{ name, trace, want string }{
		{"empty", "", "no request"},
		{"text", "not a trace\n", "this is no trace of magicctx; give a file"},
		{"another JSON file", `{"name":"package","version":"1"}`, "this is no trace of magicctx; give a file"},
		{"gzip of nothing", "\x1f\x8b rest and more", "this is no trace of magicctx; give a file"},
		{"it ends in its first line", hello[:40], "the trace ends in the middle, before its first whole request; give a file"},
		{"only the host spoke", `{"at":1,"from":"host","body":{"jsonrpc":"2.0","method":"notify/show"}}`, "no request"},
		{"garbage in the middle", hello + "garbage\n" + first, "line 2 of the trace is damaged; delete it and what follows, to replay the lines before it"},
		{"a body that is no message", `{"at":7,"from":"shim","body":[1]}`, "frame at 7"},
		{"messages that nobody sent", hello + first + strings.Replace(first, `"base":0,"keep":0`, `"base":1,"keep":9`, 1), "step 3 (session/transform): the trace keeps 9 of 1 messages"},
	} {
		report, err := Run(t.Context(), strings.NewReader(c.trace), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %+v, %v; want an error with %q", c.name, report, err, c.want)
		}
	}
}

func TestTraceOfAnUnknownHarnessIsRefused(t *testing.T) {
	trace := bytes.ReplaceAll(bytes.Join(plain(t, "short.jsonl.gz"), nil), []byte(`"harness":"opencode"`), []byte(`"harness":"emacs"`))
	if _, err := Run(t.Context(), bytes.NewReader(trace), Options{}); err == nil || !strings.Contains(err.Error(), `"emacs"`) {
		t.Error(err)
	}
	if err := Recorded(bytes.NewReader(trace), nil); err == nil || !strings.Contains(err.Error(), `"emacs"`) {
		t.Error(err)
	}
}

func TestUnreadableTraceKeepsItsCause(t *testing.T) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write([]byte(hello + first)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, trace string
		want        error
	}{
		{"plain", hello[:40], io.ErrUnexpectedEOF},
		{"compressed", zipped.String()[:20], rpc.ErrTruncated},
		{"no gzip", "\x1f\x8b rest and more", gzip.ErrHeader},
	} {
		if _, err := Run(t.Context(), strings.NewReader(c.trace), Options{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	broken := errors.New("the disk is broken")
	if _, err := Run(t.Context(), io.MultiReader(strings.NewReader(hello[:40]), iotest.ErrReader(broken)), Options{}); !errors.Is(err, broken) || !strings.Contains(err.Error(), "the disk is broken") {
		t.Errorf("%v does not say that the file cannot be read", err)
	}
}

func TestSmallestTrace(t *testing.T) {
	report, err := Run(t.Context(), strings.NewReader(hello+first), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := report.Summary()
	if s.Passes != 1 || s.Messages != 1 || len(s.Busts) != 0 || !s.IsClean() {
		t.Errorf("%+v", s)
	}
	if p := s.Detail[0]; p.Verdict != "hard" || p.Cause != "first-pass" || p.Bust || p.Session != "s" {
		t.Errorf("%+v", p)
	}
}

func TestReplayCanBeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	steps := 0
	_, err := Run(ctx, bytes.NewReader(bytes.Join(plain(t, "short.jsonl.gz"), nil)), Options{Progress: func(done, _ int) {
		if steps = done; done == 5 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || steps != 5 {
		t.Errorf("after %d steps: %v", steps, err)
	}
}

// A trace may come from anybody, so its patches need not fit its messages.
func TestRecordedPatchThatDoesNotFitIsAnError(t *testing.T) {
	trace := bytes.ReplaceAll(bytes.Join(plain(t, "short.jsonl.gz"), nil), []byte(`"path":"/parts/`), []byte(`"path":"/nowhere/`))
	err := Recorded(bytes.NewReader(trace), func(string, []json.Value, []json.Value) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "patch") {
		t.Errorf("the error is %v", err)
	}
}

// The bug: OpenCode's sidebar sends /ctx-flush over a connection of its own, so the session's trace contains only the
// bust. The replay then made no bust for the user, but a later one for another cause.
func TestAFlushOfTheSidebarIsRepeated(t *testing.T) {
	const flushed, passes = 40, 42
	var trace []byte
	asked := 0
	for _, line := range plain(t, "pi-long.jsonl.gz") {
		if bytes.Contains(line, []byte(`"method":"session/transform"`)) {
			asked++
		}
		if asked > passes {
			break
		}
		if asked == flushed {
			line = bytes.Replace(line, []byte(`"verdict":"steady"`), []byte(`"verdict":"soft","cause":"flush"`), 1)
		}
		trace = append(trace, line...)
	}
	if !bytes.Contains(trace, []byte(`"cause":"flush"`)) {
		t.Fatalf("request %d of the trace is not steady", flushed)
	}
	report, err := Run(t.Context(), bytes.NewReader(trace), Options{})
	must(t, err)
	for _, pass := range report.Passes {
		if isFlush := pass.Cause == "flush"; isFlush != (pass.Pass == flushed) || isFlush != pass.Bust {
			t.Errorf("request %d: %s %s", pass.Pass, pass.Verdict, pass.Cause)
		}
	}
}
