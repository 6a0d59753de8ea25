package page

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/dashboard"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/models"
	"github.com/magicctx/magicctx-host/store/storetest"
	"github.com/magicctx/magicctx-host/store/work"
)

// The dashboard reads the memories from a real database, and gets the states of the sessions from the test.
func TestDashboardInBrowser(t *testing.T) {
	chromium, node, repo := tools(t)
	ctx, stop := context.WithTimeout(t.Context(), browserTimeout)
	defer stop()
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("OPENCODE_CONFIG_DIR", "")
	storetest.Must(t, os.Mkdir(filepath.Join(dir, "magicctx"), 0o700))
	storetest.Must(t, os.WriteFile(filepath.Join(dir, "magicctx", "magicctx.jsonc"), []byte("{\"execute_threshold_percentage\": 50, \"zebra<img src=x>\": 1}"), 0o600))
	db := storeSession(t, dir)
	storetest.Must(t, memories.Edit(ctx, dir, time.Now().UnixMilli(), func(e *memories.Editor) error {
		for _, content := range []string{"the zebra sleeps", hostile, "the giraffe is called Gil"} {
			if _, _, err := e.Write(chronicle.Memory{Project: storetest.Project, Directory: storetest.Directory, Category: "NAMING", Content: content, Source: chronicle.FromUser}); err != nil {
				return err
			}
		}
		if _, _, err := e.Write(chronicle.Memory{Project: chronicle.UserProject, Category: chronicle.UserCategory, Content: "likes zebras", Source: chronicle.FromUser}); err != nil {
			return err
		}
		_, err := e.WriteNote(chronicle.Note{Project: storetest.Project, Content: "feed the zebra " + hostile, Condition: "when it is hungry"})
		return err
	}))
	archived := dream(t, db, dir)
	record(t, repo, dir)
	url, next := make(chan string, 1), make(chan struct{})
	ended := make(chan error, 1)
	keep, kept := keeper()
	go func() {
		ended <- dashboard.Serve(ctx, dashboard.Options{
			Dir: dir,
			Follow: func(ctx context.Context, tell func(dashboard.State)) {
				tell(dashboard.State{Status: &schema.StatusResult{Sessions: []schema.SessionStatus{running("45% of 200k"), running("2% of 8k")}}})
				select {
				case <-next:
					tell(dashboard.State{Status: &schema.StatusResult{Sessions: []schema.SessionStatus{running("46% of 200k")}, Warnings: []schema.Warning{{Message: hostile}}}})
				case <-ctx.Done():
				}
			},
			Session: func(context.Context, schema.SessionStatusParams) (schema.SessionStatus, error) {
				return schema.SessionStatus{Panel: running("46% of 200k").Panel, DroppedUnits: []schema.DroppedUnit{{Tag: 2, About: hostile}}, KeptUnits: kept()}, nil
			},
			Keep: keep,
			Messages: func(_ context.Context, _ store.Key, first, last int, w io.Writer) error {
				_, err := fmt.Fprintf(w, "[%d] user: word for word %s\n[%d] end", first, hostile, last)
				return err
			},
			Read: func(_ context.Context, _ rawhistory.Session, _, _ int, yield func(rawhistory.Message) bool) (rawhistory.Extent, error) {
				long := strings.ReplaceAll(hostile, `"`, `\"`) + strings.Repeat(" stripes", 400)
				yield(rawhistory.MessageOf(transcript.OpenCode{}, 2, json.Value(`{"info":{"id":"msg_2","role":"assistant"},"parts":[{"id":"prt_2","type":"tool","tool":"read","callID":"c","state":{"status":"completed","input":{"filePath":"src/zebra.go"},"output":"`+long+`"}}]}`)))
				return rawhistory.Extent{First: 1, Last: 2}, nil
			},
			Identify: func(context.Context, string) (string, error) { return storetest.Project, nil },
			Ready:    func(address string) error { url <- address; return nil },
		})
	}()
	cmd := exec.CommandContext(ctx, node, filepath.Join(repo, "e2e", "page", "dashboard.mjs"), chromium, <-url, filepath.Join(repo, "bin", "screens"))
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = &firstLine{out: out, seen: next}, out
	err := cmd.Run()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
	var left []chronicle.Memory
	storetest.Must(t, memories.View(ctx, dir, func(r *memories.Reader) (err error) {
		left, err = r.All("", true, time.Now().UnixMilli())
		return err
	}))
	got := map[int64]string{}
	for _, m := range left {
		if m.ID == 2 { // the store has cleaned the hostile text
			continue
		}
		got[m.ID] = string(m.Status) + ": " + m.Content
	}
	storetest.Same(t, "memories", got, map[int64]string{1: "active: the zebra sleeps at night", 3: "archived: the giraffe is called Gil", 4: "active: likes zebras", archived: "active: the okapi hides"})
	settings, err := os.ReadFile(filepath.Join(dir, "magicctx", "magicctx.jsonc"))
	storetest.Same(t, fmt.Sprint("settings ", err), string(settings), `{"execute_threshold_percentage": 50, "zebra<img src=x>": 1, "protected_tags": 30}`)
	stop()
	<-ended
}

func keeper() (keep func(context.Context, schema.KeepParams) (schema.KeepResult, error), kept func() []schema.KeptUnit) {
	var mu sync.Mutex
	var all []schema.KeptUnit
	return func(_ context.Context, p schema.KeepParams) (schema.KeepResult, error) {
			mu.Lock()
			defer mu.Unlock()
			all = nil
			if !p.LetGo {
				all = []schema.KeptUnit{{Tag: p.Tags[0], Tool: "read", About: hostile, Tokens: 3000, Waits: true}}
			}
			return schema.KeepResult{KeptUnits: all}, nil
		}, func() []schema.KeptUnit {
			mu.Lock()
			defer mu.Unlock()
			return all
		}
}

// storeSession stores a session with forty requests and with hostile names. The second request drops a call. In the
// third, a summary replaces two messages.
func storeSession(t *testing.T, dir string) *store.Store {
	s := storetest.Open(t, dir)
	for n := 1; n <= 3; n++ {
		c := storetest.Commit(n)
		switch n {
		case 2:
			c.Units[0].Kind, c.Units[0].Tool, c.Units[0].Tokens, c.Units[0].UnitKey = "tool", "read", 3000, "msg_2\x00p:prt_2"
			c.Pass.Verdict, c.Pass.Bust, c.Pass.BustCause, c.Pass.SizeTokens = "soft", true, "pressure", 61_000
			c.Pass.Price = schema.BustPrice{Resent: 12_900, Removed: 29_000, BreakEven: 3, Forecast: 41}
			c.Edits = []store.EditRow{{Tag: 2, Kind: "drop", Pass: 2, Payload: "tool reclaim"}}
			c.Removals = []store.RemovalRow{{Rule: "tool reclaim", Tokens: 3000}}
		case 3:
			c.Pass.Verdict, c.Pass.Bust, c.Pass.BustCause = "hard", true, hostile
			c.Removals = []store.RemovalRow{{Rule: store.RuleSummaries, Tokens: 2400, Through: 2}}
		}
		storetest.Must(t, s.CommitPass(t.Context(), c))
	}
	old := storetest.Commit(1)
	old.Session.Key.Session = "ses_old"
	storetest.Must(t, s.CommitPass(t.Context(), old))
	for n := 4; n <= 40; n++ {
		c := storetest.Commit(n)
		c.Units[0].Kind, c.Units[0].Tokens = "tool", 700
		c.Pass.WireTokens, c.Pass.BaselineTokens, c.Pass.MemoryTokens, c.Pass.ReasoningTokens = 1500*n, 4000, 1000, 150*n
		storetest.Must(t, s.CommitPass(t.Context(), c))
	}
	for n := 1; n <= 40; n++ {
		read := 1500 * (n - 1)
		if n == 2 || n == 3 {
			read = 2000
		}
		storetest.Must(t, s.SaveUsage(t.Context(), storetest.Key, n, 40, read, 1500*n-read))
	}
	storetest.Must(t, s.Models.SaveLimits(t.Context(), models.LimitsRow{Provider: "anthropic", Model: "claude", PriceFresh: 3, PriceWrite: 3.75, PriceRead: 0.3, At: 1}))
	_, err := s.SaveTitle(t.Context(), storetest.Key, "A "+hostile)
	storetest.Must(t, err)
	_, err = s.Leases.Acquire(t.Context(), store.HistorianOf(storetest.Key), "test")
	storetest.Must(t, err)
	storetest.Must(t, s.History.Publish(t.Context(), store.Publication{
		Key: storetest.Key, Holder: "test", After: store.HistoryEnd{Ordinal: 1}, Run: work.RunRow{Kind: "incremental"},
		Compartments: []chronicle.Compartment{{
			Start: 1, End: 2, Keys: []string{"msg_1", "msg_2"}, Title: hostile, Tiers: [4]string{"The user asked for " + hostile + "\n\nThe model answered.", "Asked and answered."},
			Importance: 50, Fidelity: 0.9, MadeBy: "model", Model: "anthropic/small", RawTokens: 2400,
		}},
	}))
	return s
}

// The function `record` writes a copy of a recorded trace, in which the session has the id of storetest's session.
func record(t *testing.T, repo, dir string) {
	f, err := os.Open(filepath.Join(repo, "testdata", "traces", "short.jsonl.gz"))
	storetest.Must(t, err)
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	storetest.Must(t, err)
	content, err := io.ReadAll(unpacked)
	storetest.Must(t, err)
	_, rest, _ := bytes.Cut(content, []byte(`"session":"`))
	id, _, _ := bytes.Cut(rest, []byte(`"`))
	storetest.Must(t, os.Mkdir(filepath.Join(dir, "traces"), 0o700))
	storetest.Must(t, os.WriteFile(filepath.Join(dir, "traces", "1700000000001-1.jsonl"), bytes.ReplaceAll(content, id, []byte(storetest.Key.Session)), 0o600))
}

// The function `dream` stores a run of the dreamer that archives one memory, and returns the memory's id.
func dream(t *testing.T, s *store.Store, dir string) (archived int64) {
	ctx, w := t.Context(), memories.DreamerOf(storetest.Project)
	_, err := s.Leases.Acquire(ctx, w, "1.1")
	storetest.Must(t, err)
	var m chronicle.Memory
	storetest.Must(t, memories.Edit(ctx, dir, s.Clock.Now(), func(e *memories.Editor) (err error) {
		m, _, err = e.Write(chronicle.Memory{Project: storetest.Project, Directory: storetest.Directory, Category: "NAMING", Content: "the okapi hides", Source: chronicle.FromUser})
		return err
	}))
	err = s.Memories.Tend(ctx, storetest.Project, "1.1", 0, []memories.Tended{{Old: []chronicle.Memory{m}, Reason: "volatile: it is found"}}, func(int, []memories.Tended) string { return "" })
	storetest.Must(t, err)
	storetest.Must(t, s.Runs.Record(ctx, w, work.RunRow{Status: work.Success, Reason: "The dreamer has archived 1 memory. " + hostile, Model: hostile, StartedAt: s.Clock.Now()}, 0))
	return m.ID
}

func running(size string) schema.SessionStatus {
	return schema.SessionStatus{
		Session: storetest.Key.Session, Harness: schema.HarnessOpenCode, Directory: hostile, Title: "A " + hostile,
		Panel: &schema.Panel{
			Size: size, Window: 200_000, Bust: 130_000,
			Parts: []schema.PanelPart{
				{Source: "system", Name: "system", Tokens: 12_000, Size: "12k"},
				{Source: "summaries", Name: "summaries", Tokens: 20_000, Size: "20k"},
				{Source: "conversation", Name: "conversation", Tokens: 8_000, Size: "8k"},
				{Source: "tools", Name: "tools", Tokens: 50_000, Size: "50k"},
			},
			Facts: []schema.PanelFact{{Label: "cache", Text: "93% of the prompt was read from it"}, {Label: "last bust", Text: "14:32, " + hostile}, {Label: "historian", Text: "works", Tone: "work"}},
		},
	}
}

type firstLine struct {
	out  *strings.Builder
	seen chan struct{}
}

func (w *firstLine) Write(p []byte) (int, error) {
	if w.seen != nil {
		close(w.seen)
		w.seen = nil
	}
	return w.out.Write(p)
}

func tools(t *testing.T) (chromium, node, repo string) {
	t.Helper()
	repo, err := filepath.Abs(filepath.Join("..", ".."))
	storetest.Must(t, err)
	chromium, node = suite.Browser(t, repo)
	return chromium, node, repo
}
