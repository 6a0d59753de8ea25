package replay

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/host"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/rpc/daemon"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// The bug: a file that had lost its end was replayed as one pass, with exit code 0 and without a warning.
func TestB9TruncatedTraceIsNamed(t *testing.T) {
	zipped, err := os.ReadFile(filepath.Join(traces, "short.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []int{len(zipped) / 2, len(zipped) * 3 / 4, len(zipped) - 1} {
		report, err := Run(t.Context(), bytes.NewReader(zipped[:part]), Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := report.Summary()
		if !s.IsTruncated || len(s.Missing) == 0 || !strings.Contains(s.Missing[0], "a part of the compressed file was lost") {
			t.Errorf("%d of %d bytes: truncated %v, missing %q", part, len(zipped), s.IsTruncated, s.Missing)
		}
	}
	report, err := Run(t.Context(), bytes.NewReader(zipped), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s := report.Summary(); s.IsTruncated {
		t.Errorf("the whole file counts as truncated: %q", s.Missing)
	}
}

// The bug: one MB of gzip took 4.7 GB of memory. The replay must refuse such a trace.
func TestB9CompressedBombIsRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		head string
		line string
		many int
	}{
		{"one endless value", `"`, strings.Repeat("a", 1<<20), 300},
		{"many frames", "", strings.Repeat(`{"at":1,"from":"shim","body":{"method":"x"}}`+"\n", 20_000), 100},
	} {
		var zipped bytes.Buffer
		z := gzip.NewWriter(&zipped)
		if _, err := io.WriteString(z, c.head); err != nil {
			t.Fatal(err)
		}
		for range c.many {
			if _, err := io.WriteString(z, c.line); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(t.Context(), &zipped, Options{}); !errors.Is(err, rpc.ErrTraceTooLarge) {
			t.Errorf("%s: got %v, want %v", c.name, err, rpc.ErrTraceTooLarge)
		}
	}
}

// The bug: a message with five million empty parts fits into 17 kB of gzip, and took 5 GB of memory. The host's own
// limits did not help, because a replay decodes messages before its host does.
func TestTraceBoundsMessagesAndParts(t *testing.T) {
	for _, c := range []struct{ attachment, want string }{
		{`[{"info":{"id":"m","role":"user"},"parts":[` + strings.Repeat("{},", schema.MaxParts) + `{}]}]`, "step 2 (session/transform): message 1 of the array has 20001 parts, and at most 20000"},
		{`[` + strings.Repeat("0,", schema.MaxMessages) + `0]`, "step 2 (session/transform): the array has 200001 messages, and at most 200000"},
	} {
		begin, _, ok := strings.Cut(first, `"attachment":`)
		if !ok {
			t.Fatal("the trace has no attachment")
		}
		_, err := Run(t.Context(), strings.NewReader(hello+begin+`"attachment":`+c.attachment+"}\n"), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// The bug: a number that no shim sends made the replay panic. The replay must return an error instead.
func TestB9NonsenseInATraceIsAnError(t *testing.T) {
	for _, c := range []struct{ name, old, nonsense string }{
		{"negative keep", `"base":0,"keep":0`, `"base":1,"keep":-1`},
		{"keep of nothing", `"base":0,"keep":0`, `"base":1,"keep":9223372036854775807`},
		{"negative base", `"base":0,"keep":0`, `"base":-1,"keep":0`},
		{"keep that is no number", `"base":0,"keep":0`, `"base":1,"keep":1.5`},
		{"no array", `"attachment":[{`, `"attachment":{"a":[{`},
	} {
		nonsense := strings.Replace(first, c.old, c.nonsense, 1)
		if c.name == "no array" {
			nonsense = strings.Replace(nonsense, `}]}]}`, `}]}]}}`, 1)
		}
		if nonsense == first {
			t.Fatalf("%s: the trace is not changed", c.name)
		}
		if _, err := Run(t.Context(), strings.NewReader(hello+first+nonsense), Options{}); err == nil {
			t.Errorf("%s: replayed without an error", c.name)
		}
	}
	for _, at := range []string{"-1", "-9223372036854775808", "9223372036854775807"} {
		if _, err := Run(t.Context(), strings.NewReader(hello+strings.Replace(first, `"at":2000`, `"at":`+at, 1)), Options{}); err != nil {
			t.Errorf("a frame at %s: %v", at, err)
		}
	}
}

var discard = slog.New(slog.DiscardHandler)

type world struct {
	t      *testing.T
	clock  *clock.Manual
	store  *store.Store
	server *rpc.Server
	config schema.Config
	// The function `agent` answers for the hidden agents. If it is nil, the harnesses have no agents. The channel
	// `shown` receives the notices to the user.
	agent func(schema.AgentRunParams) schema.AgentRunResult
	shown chan schema.NotifyShowParams
}

func newWorld(t *testing.T) *world { return newWorldWith(t, nil) }

func newWorldWith(t *testing.T, agent func(schema.AgentRunParams) schema.AgentRunResult) *world {
	t.Helper()
	w := &world{agent: agent, shown: make(chan schema.NotifyShowParams, 10), t: t, clock: clock.NewManual(1_700_000_000_000), config: config.Default()}
	w.config.ProtectedTags = 1
	w.config.Spending = schema.SpendingGenerous // with the default setting, a bust for rent would come before pressure
	w.config.Notices = nil                      // a test that waits for the notice of a command must not get other notices
	w.config.ExecuteThresholdPercentage = map[string]float64{"default": 40}
	db, err := store.Open(t.Context(), store.Options{Dir: t.TempDir(), Log: discard, Clock: w.clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	w.store = db
	h := host.New(host.Options{
		Store: db, Clock: w.clock, Log: discard, CommitTimeout: callTimeout, Summarises: agent != nil,
		LoadConfig: func(schema.Harness, string) (schema.Config, []config.Warning) { return w.config, nil },
	})
	w.server = rpc.NewServer(rpc.Always(h), rpc.Options{Log: discard, Clock: w.clock})
	return w
}

func (w *world) dial(context.Context) (io.ReadWriteCloser, error) {
	near, far := rpc.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		w.server.ServeConn(context.Background(), far)
	}()
	w.t.Cleanup(func() { near.Close(); <-served })
	return near, nil
}

// A fakeShim plays the shim of a harness. If it records a trace, the trace is complete when the method `stop` has
// returned.
type fakeShim struct {
	world   *world
	client  *rpc.Client
	bases   map[string]uint64
	told    map[string]int
	sent    map[string]string
	answers []schema.WireMutation
	stop    func() []byte
}

func (w *world) connect(isTraced bool) *fakeShim {
	w.t.Helper()
	s := &fakeShim{world: w, bases: map[string]uint64{}, told: map[string]int{}, sent: map[string]string{}}
	conn, err := w.dial(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	stop := func() []byte { return nil }
	if isTraced {
		conn, stop = w.trace(conn)
	}
	answer := func(_ context.Context, method string, params json.Value) (any, error) {
		switch method {
		case schema.MethodAgentRun:
			var p schema.AgentRunParams
			err := json.Unmarshal(params, &p)
			return w.agent(p), err
		case schema.MethodNotifyShow:
			var p schema.NotifyShowParams
			err := json.Unmarshal(params, &p)
			w.shown <- p
			return schema.Empty{}, err
		case schema.MethodModelLimits:
			return schema.ModelLimits{ContextTokens: 12_000, NPM: "@ai-sdk/anthropic", Price: schema.Price{Fresh: 1, Write: 1, Read: 1}}, nil
		}
		return schema.Empty{}, nil
	}
	s.client = rpc.NewClient(conn, answer, discard)
	s.stop = func() []byte {
		if err := s.client.Close(context.Background()); err != nil {
			w.t.Error(err)
		}
		return stop()
	}
	hello := schema.InitializeParams{Protocol: schema.Version{Major: schema.ProtocolMajor}, Client: "t", ClientVersion: "1", Harness: schema.HarnessOpenCode, Directory: "/p", Worktree: "/p"}
	if err := s.client.Call(w.t.Context(), schema.MethodInitialize, hello, nil); err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) trace(host io.ReadWriteCloser) (shim io.ReadWriteCloser, stop func() []byte) {
	w.t.Helper()
	dir := w.t.TempDir()
	rec, err := rpc.NewRecorder(dir, w.clock, discard)
	if err != nil {
		w.t.Fatal(err)
	}
	rec.ExportFrom(w.dial)
	near, far := rpc.Pipe()
	bridged := make(chan error, 1)
	go func() { bridged <- daemon.Bridge(context.Background(), far, host, rec) }()
	return near, func() []byte {
		if err := <-bridged; err != nil {
			w.t.Error(err)
		}
		if err := rec.Close(); err != nil {
			w.t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
		if err != nil || len(files) != 1 {
			w.t.Fatalf("traces %v, %v", files, err)
		}
		content, err := os.ReadFile(files[0])
		if err != nil {
			w.t.Fatal(err)
		}
		return content
	}
}

type conversation struct {
	id       string
	messages []json.Value
}

func (c *conversation) user(text string) {
	n := len(c.messages)
	c.messages = append(c.messages, json.Value(fmt.Sprintf(`{"info":{"id":"%s-m%03d","sessionID":%q,"role":"user","time":{"created":%d},"agent":"build","model":{"providerID":"anthropic","modelID":"claude-sonnet-4"}},"parts":[{"id":"%s-p%03d","type":"text","text":%q}]}`,
		c.id, n, c.id, 1000+n, c.id, n, text)))
}

func (c *conversation) turn() {
	c.user("go on")
	n := len(c.messages)
	c.messages = append(c.messages, json.Value(fmt.Sprintf(`{"info":{"id":"%s-m%03d","sessionID":%q,"role":"assistant","time":{"created":%d,"completed":%d},"providerID":"anthropic","modelID":"claude-sonnet-4","finish":"stop","tokens":{"input":%d,"output":5,"cache":{"read":0,"write":0}}},"parts":[{"id":"%s-p%03d","type":"tool","callID":"%s-c%03d","tool":"read","state":{"status":"completed","input":{"path":"f%d"},"output":%q,"title":"t","metadata":{},"time":{"start":1,"end":2}}}]}`,
		c.id, n, c.id, 1000+n, 1000+n, 300*n, c.id, n, c.id, n, n, strings.Repeat("word ", 500))))
}

func (s *fakeShim) pass(c *conversation) {
	s.world.t.Helper()
	s.world.clock.Set(s.world.clock.Now() + 10_000)
	p := schema.TransformParams{Session: c.id, Directory: "/p", Base: s.bases[c.id], Keep: s.told[c.id], Sent: s.sent[c.id]}
	var m schema.WireMutation
	send := func() error {
		attachment, err := json.Marshal(c.messages[p.Keep:])
		if err != nil {
			return err
		}
		return s.client.CallWithAttachment(s.world.t.Context(), schema.MethodTransform, p, attachment, &m)
	}
	if err := send(); err != nil {
		s.world.t.Fatal(err)
	}
	s.bases[c.id], s.told[c.id], s.sent[c.id] = m.Revision, len(c.messages), m.Wire
	s.answers = append(s.answers, m)
}

func (s *fakeShim) measure(c *conversation) {
	s.world.t.Helper()
	event := fmt.Sprintf(`{"type":"message.updated","properties":{"sessionID":%q,"info":{"id":"%s-m%03d","sessionID":%q,"role":"assistant","time":{"created":1,"completed":2},"providerID":"anthropic","modelID":"claude-sonnet-4","finish":"stop","tokens":{"input":%d,"output":5,"cache":{"read":0,"write":0}}}}}`,
		c.id, c.id, len(c.messages), c.id, 300*len(c.messages))
	params := schema.EventParams{Session: c.id, Directory: "/p", Event: json.Value(event), Sent: s.sent[c.id]}
	if err := s.client.Notify(schema.MethodEvent, params); err != nil {
		s.world.t.Fatal(err)
	}
}

// A trace may begin in the middle of a session, or record the second harness that uses a host. The bug: the replay
// of such a trace did not know the window and the earlier history. For example, it showed no bust where the session
// had three. Each pass of the replay must decide as the recorded host did.
func TestC12TraceIsCompleteByItself(t *testing.T) {
	w := newWorld(t)
	early := w.connect(false)
	long, other := &conversation{id: "ses_long"}, &conversation{id: "ses_other"}
	for range 10 {
		long.turn()
		early.pass(long)
	}
	traced := w.connect(true)
	for range 12 {
		long.turn()
		traced.pass(long)
		other.turn()
		traced.pass(other)
	}
	fork := &conversation{id: "ses_fork"}
	for _, m := range long.messages { // the session is copied under new ids, and the original continues
		fork.messages = append(fork.messages, json.Value(strings.ReplaceAll(string(m), "ses_long", "ses_fork")))
	}
	trace := traced.stop()
	forking := w.connect(true)
	for range 6 {
		fork.user("and here")
		forking.pass(fork)
		fork.turn()
	}
	forked := forking.stop()
	early.stop()
	for _, c := range []struct {
		name    string
		trace   []byte
		answers []schema.WireMutation
	}{{"continued and new", trace, traced.answers}, {"fork", forked, forking.answers}} {
		var busts int
		for _, m := range c.answers {
			if m.Verdict == schema.Soft {
				busts++
			}
		}
		if busts == 0 && c.name != "fork" {
			t.Fatalf("%s: the recorded session has no busts, so it proves nothing", c.name)
		}
		replayed, report := wires(t, c.trace)
		if diff := cmp.Diff(gist(c.answers), gist(replayed)); diff != "" {
			t.Errorf("%s: decisions (-recorded +replayed):\n%s", c.name, diff)
		}
		s := report.Summary()
		if s.Findings() > len(s.Overflows) || len(s.Missing) > 0 {
			t.Errorf("%s: missing %q, %d unexplained, %v", c.name, s.Missing, s.UnexplainedBusts, s.InvariantViolations)
		}
		for _, p := range s.Detail {
			if p.WindowTokens != 12_000 {
				t.Errorf("%s: pass %d is replayed with a window of %d", c.name, p.Pass, p.WindowTokens)
			}
		}
	}
}

func gist(answers []schema.WireMutation) []string {
	var all []string
	for _, m := range answers {
		all = append(all, fmt.Sprintf("%s %s %s %v %v", m.Verdict, m.Cause, m.Wire, m.Edits, slices.Sorted(slices.Values(m.Cleared))))
	}
	return all
}

func wires(t *testing.T, trace []byte) ([]schema.WireMutation, *Report) {
	t.Helper()
	var answers []schema.WireMutation
	report, err := Run(t.Context(), bytes.NewReader(trace), Options{AsRecorded: true, Answered: func(m schema.WireMutation) { answers = append(answers, m) }})
	if err != nil {
		t.Fatal(err)
	}
	return answers, report
}

// The recorder saves the configuration just before the first pass. But a harness may ask for a system prompt even
// earlier. So the replay must already use the recorded configuration for this prompt. With another configuration, the
// guidance would change at the second request.
func TestConfigurationStandsBeforeTheFirstSystemPrompt(t *testing.T) {
	usual := bytes.Join(plain(t, "pi-short.jsonl.gz"), nil)
	other := bytes.ReplaceAll(usual, []byte(`"protected_tags":20`), []byte(`"protected_tags":7`))
	if bytes.Equal(usual, other) {
		t.Fatal("the trace does not name the key")
	}
	_, report := wires(t, other)
	s := report.Summary()
	for _, b := range s.Busts {
		if b.Cause == pipeline.BustSystem {
			t.Errorf("bust at pass %d: the system prompt has changed", b.Pass)
		}
	}
	if !s.IsClean() {
		t.Errorf("%d unexplained busts, %v, %v, %v", s.UnexplainedBusts, s.InvariantViolations, s.ValidatorHits, s.Overflows)
	}
}

// An older trace does not contain the state of a session. The report must say so in its first line.
func TestC12ReportNamesTheMissingParts(t *testing.T) {
	w := newWorld(t)
	early := w.connect(false)
	long := &conversation{id: "ses_long"}
	for range 10 {
		long.turn()
		early.pass(long)
	}
	traced := w.connect(true)
	long.turn()
	traced.pass(long)
	trace := traced.stop()
	early.stop()
	var older [][]byte
	for line := range bytes.Lines(trace) {
		if !bytes.Contains(line, []byte(`"from":"recorder"`)) && !bytes.Contains(line, []byte(`"models/limits"`)) {
			older = append(older, line)
		}
	}
	report, err := Run(t.Context(), bytes.NewReader(bytes.Join(older, nil)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"the configuration", "the earlier state of session ses_long", "the limits of anthropic/claude-sonnet-4"}
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(report.Summary().Missing))); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}
