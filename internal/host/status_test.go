package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

func (h *harness) status() schema.StatusResult {
	h.t.Helper()
	st, err := h.host.Status(h.t.Context(), h, schema.StatusParams{})
	if err != nil {
		h.t.Fatal(err)
	}
	return st
}

type slowClient struct {
	*harness
	asked, answer chan struct{}
}

func (c slowClient) ModelLimits(ctx context.Context, p schema.ModelLimitsParams) (schema.ModelLimits, error) {
	close(c.asked)
	<-c.answer
	return c.harness.ModelLimits(ctx, p)
}

// A pass holds the lock of its session, and may take long. A request for the status of this session must not wait for
// it.
func TestStatusDoesNotWaitForAPass(t *testing.T) {
	h := newHarness(t)
	h.user("u1", "hello")
	c := slowClient{h, make(chan struct{}), make(chan struct{})}
	if _, err := h.host.Initialize(t.Context(), c, schema.InitializeParams{Harness: schema.HarnessOpenCode, Directory: "/p"}); err != nil {
		t.Fatal(err)
	}
	if err := h.store.RequestFlush(t.Context(), store.Key{Harness: "opencode", Session: testSession}, h.clock.Now()); err != nil {
		t.Fatal(err)
	}
	passed := make(chan error, 1)
	go func() {
		_, err := h.host.Transform(context.Background(), c, schema.TransformParams{Session: testSession, Directory: "/p", Messages: []byte("[" + string(h.messages[0]) + "]")})
		passed <- err
	}()
	<-c.asked
	if got := len(h.status().Sessions); got != 1 {
		t.Errorf("%d sessions, want the one at work", got)
	}
	if _, err := h.host.SessionStatus(t.Context(), h, schema.SessionStatusParams{Harness: schema.HarnessOpenCode, Session: testSession}); err != nil {
		t.Error(err)
	}
	if _, err := h.host.Subscribe(t.Context(), h, schema.SubscribeParams{}); err != nil {
		t.Error(err)
	}
	select {
	case err := <-passed:
		t.Fatalf("the pass was not blocked: %v", err)
	default:
	}
	close(c.answer)
	if err := <-passed; err != nil {
		t.Error(err)
	}
	if got := h.status().Sessions[0].Passes; got != 1 {
		t.Errorf("%d passes, want 1", got)
	}
}

func TestStatusTellsWhatTheContextIsMadeOf(t *testing.T) {
	h := newHarness(t)
	prompt, output := strings.Repeat("please look ", 30), strings.Repeat("a line of output\n", 50)
	h.user("u1", prompt)
	h.tool("a1", output, "tool-calls", 1000)
	h.pass()
	key := store.Key{Harness: "opencode", Session: testSession}
	if err := h.store.SaveUsage(t.Context(), key, 1, 1000, 7000, 2000); err != nil {
		t.Fatal(err)
	}
	if err := h.store.SaveSystem(t.Context(), key, store.SystemState{SystemTokens: 321}); err != nil {
		t.Fatal(err)
	}
	s := h.status().Sessions[0]
	want := schema.TokensBySource{
		System: 321, Text: int64(tokens.Count(prompt)), ToolResults: int64(tokens.Count(output)), ToolInputs: s.Tokens.ToolInputs,
	}
	want.ToolDefinitions = 10_000 - want.System - want.Text - want.ToolResults - want.ToolInputs
	if diff := cmp.Diff(want, s.Tokens); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
	if s.Tokens.ToolInputs == 0 {
		t.Error("the tool's input counts nothing")
	}
	if s.CacheHitRate != 0.7 || s.CacheFresh != 1000 || s.InputTokens != 10_000 {
		t.Errorf("hit rate %v, fresh %d, prompt %d, want 0.7, 1000 and 10000", s.CacheHitRate, s.CacheFresh, s.InputTokens)
	}
	if s.Pressure != 0.1 || s.Threshold != 0.65 || s.Directory != "/p" {
		t.Errorf("pressure %v of threshold %v in %q, want 0.1 of 0.65 in /p", s.Pressure, s.Threshold, s.Directory)
	}
}

func TestStatusCountsBustsByCause(t *testing.T) {
	h := newHarness(t)
	h.user("u1", "hello")
	h.pass()
	h.messages = nil
	h.user("u9", "another past")
	h.told = 0
	h.pass()
	s := h.status().Sessions[0]
	if s.Busts != 1 || !s.LastPassBust || len(s.BustCauses) != 1 || s.BustCauses[0].Count != 1 || s.BustCauses[0].Cause == "" {
		t.Errorf("busts %d, last pass %t, causes %+v, want one bust with its cause", s.Busts, s.LastPassBust, s.BustCauses)
	}
}

func TestStatusWarnsOfTheConfigurationOfOpenDirectories(t *testing.T) {
	h := newHarness(t)
	both, one := config.Warning{Message: "the user's file is odd"}, config.Warning{Message: "the project's file is odd"}
	h.host.LoadConfig = func(_ schema.Harness, dir string) (schema.Config, []config.Warning) {
		if dir == "/a" {
			return h.config, []config.Warning{both, one}
		}
		return h.config, []config.Warning{both}
	}
	other := slowClient{harness: h}
	for _, open := range []struct {
		c   client.Client
		dir string
	}{{h, "/b"}, {other, "/a"}} {
		if _, err := h.host.Initialize(t.Context(), open.c, schema.InitializeParams{Harness: schema.HarnessOpenCode, Directory: open.dir}); err != nil {
			t.Fatal(err)
		}
	}
	want := []schema.Warning{
		{Source: "config", Directory: "/a", Message: one.Message},
		{Source: "config", Directory: "/a", Message: both.Message},
	}
	if diff := cmp.Diff(want, h.status().Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	h.host.Disconnected(other)
	want = []schema.Warning{{Source: "config", Directory: "/b", Message: both.Message}}
	if diff := cmp.Diff(want, h.status().Warnings); diff != "" {
		t.Errorf("warnings of a client that left (-want +got):\n%s", diff)
	}
}

func TestStatusWarnsOfAStoreThatCannotBeWritten(t *testing.T) {
	h := newHarness(t)
	h.host.guard.Wrote(errors.Join(store.ErrCannotPersist, errors.New("the disk is full")))
	st := h.status()
	if len(st.Warnings) != 1 || st.Warnings[0].Source != "store" || !strings.Contains(st.Warnings[0].Message, "the disk is full") {
		t.Errorf("warnings %+v", st.Warnings)
	}
	if st.StoreBytes == 0 || st.MemoryBytes == 0 {
		t.Errorf("%d bytes on disk, %d in memory, want both", st.StoreBytes, st.MemoryBytes)
	}
	h.host.guard.Wrote(nil)
	if got := h.status().Warnings; len(got) != 0 {
		t.Errorf("still warns: %+v", got)
	}
}

// The database is deleted while the host has it open and idle. The status must warn of this until the file is back.
func TestStatusWarnsOfADeletedDatabase(t *testing.T) {
	h := newHarness(t)
	kept := h.store.Path() + ".kept"
	if err := os.Rename(h.store.Path(), kept); err != nil {
		t.Fatal(err)
	}
	st := h.status()
	if st.Enabled || len(st.Warnings) != 1 || st.Warnings[0].Source != "store" || !strings.Contains(st.Warnings[0].Message, "was deleted while the host had it open; put it back") {
		t.Errorf("enabled %t, warnings %+v", st.Enabled, st.Warnings)
	}
	if err := os.Rename(kept, h.store.Path()); err != nil {
		t.Fatal(err)
	}
	h.user("u1", "hello")
	h.pass()
	if st := h.status(); !st.Enabled || len(st.Warnings) != 0 {
		t.Errorf("the database is back: enabled %t, warnings %+v", st.Enabled, st.Warnings)
	}
}

// An older pass may have computed the newest price.
func TestStatusTellsTheNewestPrice(t *testing.T) {
	h := newHarness(t)
	h.user("u1", "hello")
	h.pass()
	row := h.status().Sessions[0]
	if row.LastPrice != nil || row.GoalTokens != 0 {
		t.Fatalf("a price that nobody weighed: %+v", row)
	}
	key := store.Key{Harness: "opencode", Session: testSession}
	summary, _, err := h.store.Reports.Session(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range []store.PassRow{
		{Verdict: "steady", Cause: "not-worth-it", SizeTokens: 900, GoalTokens: 400, Price: schema.BustPrice{Resent: 700, Removed: 80, BreakEven: 99.6, Forecast: 12}},
		{Verdict: "steady", SizeTokens: 950},
	} {
		p.Pass = row.Passes + 1 + i
		session := summary.SessionRow
		session.Passes = p.Pass
		if err := h.store.CommitPass(t.Context(), store.PassCommit{Session: session, Pass: p}); err != nil {
			t.Fatal(err)
		}
	}
	st := h.status().Sessions[0]
	want := &schema.PricedPass{Pass: row.Passes + 1, Cause: "not-worth-it", Price: schema.BustPrice{Resent: 700, Removed: 80, BreakEven: 99.6, Forecast: 12}}
	if diff := cmp.Diff(want, st.LastPrice); diff != "" || st.SizeTokens != 950 || st.GoalTokens != 0 {
		t.Errorf("size %d, goal %d, price (-want +got):\n%s", st.SizeTokens, st.GoalTokens, diff)
	}
}

func TestConflictsReachTheShimAndStatus(t *testing.T) {
	h := newHarness(t)
	const conflict = "/p/.opencode/plugins/dcp.ts: the plugin dcp.ts prunes the same messages"
	competitor := ""
	h.host.Conflicts = func(_ context.Context, harness schema.Harness, dir string) ([]config.Warning, string) {
		if harness != schema.HarnessOpenCode || dir != "/p" {
			return nil, ""
		}
		return []config.Warning{{Message: conflict}}, competitor
	}
	r, err := h.host.Initialize(t.Context(), h, openP)
	if err != nil || !slices.Contains(r.Warnings, conflict) {
		t.Errorf("initialize warns of %q (%v)", r.Warnings, err)
	}
	st, err := h.host.Status(t.Context(), h, schema.StatusParams{})
	if err != nil || !slices.ContainsFunc(st.Warnings, func(w schema.Warning) bool { return w.Message == conflict }) {
		t.Errorf("status warns of %+v (%v)", st.Warnings, err)
	}
	competitor = "it stands down beside dcp.ts"
	r, err = h.host.Initialize(t.Context(), h, openP)
	if err != nil || r.Enabled || r.Trouble || r.Reason != competitor || len(r.Hooks)+len(r.Tools)+len(r.Commands) > 0 {
		t.Errorf("beside a competitor: %+v (%v)", r, err)
	}
	if st, err = h.host.Status(t.Context(), h, schema.StatusParams{}); err != nil || !slices.ContainsFunc(st.Warnings, func(w schema.Warning) bool { return w.Message == conflict }) {
		t.Errorf("beside a competitor, status warns of %+v (%v)", st.Warnings, err)
	}
	competitor = ""
	if r, err = h.host.Initialize(t.Context(), h, openP); err != nil || !r.Enabled {
		t.Errorf("when it is gone: %+v (%v)", r, err)
	}
}

func followed(t testing.TB, h *harness) []*follower {
	all := make([]*follower, 200)
	for i := range all {
		all[i] = &follower{}
		if _, err := h.host.Subscribe(t.Context(), all[i], schema.SubscribeParams{}); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// A subscriber gets a session's status only after the running call has answered. So the status does not delay the
// answer.
func TestSubscribersWaitForTheAnswer(t *testing.T) {
	h := newHarness(t)
	h.user("u", "go on")
	h.pass()
	c := &follower{}
	if _, err := h.host.Subscribe(t.Context(), c, schema.SubscribeParams{}); err != nil {
		t.Fatal(err)
	}
	key := store.Key{Harness: string(schema.HarnessOpenCode), Session: testSession}
	s, err := h.host.sessions.Lock(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	h.host.status.Publish(key)
	time.Sleep(100 * time.Millisecond)
	h.host.clients.Forget(c)
	s.Unlock()
	h.host.background.Wait()
	if c.told > 0 {
		t.Error("a client that has left before the end of the call was told of the session during the call")
	}
}

// Steps may follow each other faster than a person can read. So a subscriber must get only a few statuses a second, but
// it must always get the last one.
func TestSubscribersAreToldAFewTimesASecond(t *testing.T) {
	const passes = 60
	h := newHarness(t)
	all := followed(t, h)
	began := time.Now()
	for i := range passes {
		h.user(fmt.Sprint("u", i), "go on")
		h.pass()
	}
	h.host.background.Wait()
	most := int(time.Since(began)/(250*time.Millisecond)) + 2
	for _, c := range all {
		if c.told == 0 || c.told > most {
			t.Fatalf("%d statuses in %v, want at most %d", c.told, time.Since(began), most)
		}
		if want := fmt.Sprintf(`"passes":%d,`, passes); !strings.Contains(string(c.last), want) {
			t.Fatalf("the last status lacks %s: %s", want, c.last)
		}
	}
}
