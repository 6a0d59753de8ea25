package store

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/store/models"
)

const now = 1_790_000_000_000

var key = Key{Harness: "opencode", Session: "ses_1"}

func TestMain(m *testing.M) {
	if dir := os.Getenv(committerDir); dir != "" {
		commitForever(dir)
	}
	goleak.VerifyTestMain(m)
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func options(dir string) Options {
	return Options{Dir: dir, Log: quiet(), Clock: clock.NewManual(now)}
}

func openIn(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), options(dir))
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

func closeStore(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func load(t testing.TB, s *Store, k Key) Snapshot {
	t.Helper()
	snap, found, err := s.Load(context.WithoutCancel(t.Context()), k)
	if err != nil || !found {
		t.Fatalf("load %s: found %v, err %v", k, found, err)
	}
	return snap
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Each pass brings two units.
func commit(k Key, n int) PassCommit {
	return PassCommit{
		Session: SessionRow{
			Key: k, Directory: directory, Project: project, Mode: "primary", Provider: "anthropic", Model: "claude",
			Epoch: 1, TagCounter: 2 * n, Passes: n, WireMessages: 2 * n, WireChain: "00ff", LastPassAt: now + int64(n),
		},
		Units: []UnitRow{
			{Tag: 2*n - 1, UnitKey: unitKey(2*n - 1), MessageKey: "msg_" + strconv.Itoa(n), Kind: "text", Bytes: 400, Tokens: 100},
			{Tag: 2 * n, UnitKey: unitKey(2 * n), MessageKey: "msg_" + strconv.Itoa(n), Kind: "tool", Tool: "bash", Bytes: 8000, Tokens: 2000, InputBytes: 80, InputTokens: 20},
		},
		Pass: PassRow{
			Pass: n, At: now + int64(n), Verdict: "steady", Messages: 2 * n, WireMessages: 2 * n,
			WireTokens: 2100 * n, PrefixTokens: 2100 * (n - 1), Pressure: 0.25,
		},
	}
}

func unitKey(tag int) string { return "prt_0123456789abcdef0123" + strconv.Itoa(tag) }

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	ctx := t.Context()

	p := commit(key, 1)
	p.Session.Parent = "ses_0"
	p.Session.Mode = "subagent"
	p.Session.Busts = 1
	p.Session.RawMessages, p.Session.RawChain = 3, "00ff"
	p.Session.Agent, p.Session.LostBlocks, p.Session.LostTokens = "build", 2, 900
	p.Session.Setup = SetupState{Binds: true, Preamble: 2}
	p.Pass.LostBlocks, p.Pass.LostTokens, p.Pass.Price.Thinking = 2, 900, 1000
	p.Pass.MemoryTokens, p.Pass.ReasoningTokens, p.CoveredTools = 30, 40, 5
	p.Thinking = []ThinkingRow{{MessageKey: "msg_1", Prompt: "2.00ff"}}
	p.Edits = []EditRow{{Tag: 1, Kind: "drop", Pass: 1}, {Tag: 2, Kind: "skeleton", Pass: 1, Payload: `{"keep":["cmd"]}`}}
	p.Pass.Verdict, p.Pass.Cause = "hard", "flush"
	p.Pass.Bust, p.Pass.BustCause, p.Pass.EditsAdded = true, "edits", 2
	system := SystemState{StickyDate: "2026-11-20", StickyDateEpoch: 1, SystemHash: "ab", SystemTokens: 9000}
	drops := []DropRow{{Tag: 2, UnitKey: unitKey(2), QueuedAt: now + 1}, {Tag: 1, UnitKey: unitKey(1), QueuedAt: now + 2}}
	limits := models.LimitsRow{
		Provider: "anthropic", Model: "claude", ContextTokens: 200_000, InputTokens: 190_000, OutputTokens: 64_000,
		PriceFresh: 3, PriceWrite: 3.75, PriceRead: 0.3, PriceOutput: 15, NPM: "@ai-sdk/anthropic", At: now,
	}
	must(t, s.CommitPass(ctx, p))
	must(t, s.SaveSystem(ctx, key, system))
	must(t, s.SaveUsage(ctx, key, 1, 10, 2000, 90))
	must(t, s.QueueDrops(ctx, key, nil, drops, ToolReplyRow{CallID: "call_1", Reply: "queued", At: now}))
	must(t, s.RequestFlush(ctx, key, now+3))
	must(t, s.Models.SaveLimits(ctx, limits))
	must(t, s.Close())

	s = openIn(t, dir)
	wantSession := p.Session
	wantSession.InputTokens, wantSession.CacheRead, wantSession.CacheWrite, wantSession.PromptTokens = 10, 2000, 90, 2100
	wantSession.System = system
	wantSession.ExplicitFlush = true
	wantSession.UpdatedAt = now + 3
	same(t, "snapshot", load(t, s, key), Snapshot{Session: wantSession, Units: p.Units, Edits: p.Edits, Queued: drops, Thinking: p.Thinking})

	wantPass := p.Pass
	wantPass.Usage = &Usage{Input: 10, CacheRead: 2000, CacheWrite: 90}
	wantPass.ToolTokens = 15 // a skeleton keeps its input of 20, of which the head stands for 5
	passes, err := s.Reports.Passes(ctx, key, 0, 0)
	must(t, err)
	same(t, "passes", passes, []PassRow{wantPass})

	gotLimits, found, err := s.Models.Limits(ctx, "anthropic", "claude")
	must(t, err)
	if !found {
		t.Error("limits not found")
	}
	same(t, "limits", gotLimits, limits)

	reply, found, err := s.ToolReply(ctx, key, "call_1")
	if err != nil || !found || reply != "queued" {
		t.Errorf("tool reply: %q, %v, %v", reply, found, err)
	}
	sum, _, err := s.Reports.Session(ctx, key)
	must(t, err)
	same(t, "session", sum, SessionSummary{SessionRow: wantSession, Units: 2, Dropped: 2, Queued: 2, Last: &wantPass})
}

func TestUnknownIsNotFound(t *testing.T) {
	s := openIn(t, t.TempDir())
	if _, found, err := s.Load(t.Context(), key); found || err != nil {
		t.Errorf("load: %v, %v", found, err)
	}
	if _, found, err := s.ToolReply(t.Context(), key, "call"); found || err != nil {
		t.Errorf("tool reply: %v, %v", found, err)
	}
	if _, found, err := s.Models.Limits(t.Context(), "p", "m"); found || err != nil {
		t.Errorf("limits: %v, %v", found, err)
	}
}

func TestStringsOfJavaScriptPassUntouched(t *testing.T) {
	s := openIn(t, t.TempDir())
	p := commit(key, 1)
	p.Units[0].UnitKey = "nul\x00inside"
	p.Units[1].UnitKey = "lone \xed\xa0\x80 surrogate"
	p.Edits = []EditRow{{Tag: 1, Kind: "drop", Payload: "\x00\xff"}}
	must(t, s.CommitPass(t.Context(), p))
	got := load(t, s, key)
	same(t, "units", got.Units, p.Units)
	same(t, "edits", got.Edits, p.Edits)
}

func TestFilesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps access lists, not modes")
	}
	dir := filepath.Join(t.TempDir(), "new", "store")
	s := openIn(t, dir)
	must(t, s.CommitPass(t.Context(), commit(key, 1)))
	info, err := os.Stat(dir)
	must(t, err)
	if mode := info.Mode().Perm(); mode != 0o700 {
		t.Errorf("directory has mode %o", mode)
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) < 4 {
		t.Errorf("expected database, log, index and lock, got %v", entries)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		must(t, err)
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o", entry.Name(), mode)
		}
	}
}

func TestCloseTwice(t *testing.T) {
	s := openIn(t, t.TempDir())
	must(t, s.Close())
	must(t, s.Close())
	if err := s.CommitPass(t.Context(), commit(key, 1)); err == nil {
		t.Error("a closed store accepted a pass")
	}
}

// Tests do not measure speed with soon.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}
