package main

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/work"
)

// memory list shows the historian's facts, and memory rm removes one, even while a host has the database
// open.
func TestMemoryListAndRm(t *testing.T) {
	dir := t.TempDir()
	host, err := store.Open(t.Context(), store.Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Clock: clock.System{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close() })
	if out, errs, code := runReal(t, "memory", "--data-dir", dir); code != exitOK || !strings.Contains(out, "remembers nothing yet") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	learnFact(t, host, "dir:0123456789ab", "tests run with\x1b[31m go test ./...")

	out, errs, code := runReal(t, "memory", "list", "--data-dir", dir)
	if code != exitOK || !strings.Contains(out, "/p (dir:0123456789ab)\n     1  WORKFLOW_RULES: tests run with") || strings.ContainsRune(out, 0x1b) {
		t.Errorf("exit code %d, %q%s", code, out, errs)
	}
	if out, errs, code := runReal(t, "memory", "rm", "7", "--data-dir", dir); code != exitFailed || !strings.Contains(errs, "no such memory: number 7") {
		t.Errorf("exit code %d, %q%s", code, out, errs)
	}
	if out, errs, code := runReal(t, "memory", "rm", "1", "--data-dir", dir); code != exitOK || !strings.Contains(out, "WORKFLOW_RULES: tests run with") {
		t.Errorf("exit code %d, %q%s", code, out, errs)
	}
	known, err := host.Memories.Of(t.Context(), "dir:0123456789ab", 0)
	if err != nil || len(known.Memories) != 0 || known.ChangeID == 0 {
		t.Errorf("the host still has %+v, %v", known, err)
	}
}

// learnFact publishes a summary of one message with a fact.
func learnFact(t *testing.T, s *store.Store, project, content string) {
	t.Helper()
	key := store.Key{Harness: "opencode", Session: "ses_one"}
	err := s.CommitPass(t.Context(), store.PassCommit{
		Session: store.SessionRow{Key: key, Directory: "/p", Mode: "primary", TagCounter: 1}, Pass: store.PassRow{Pass: 1, Verdict: "steady"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Leases.Acquire(t.Context(), store.HistorianOf(key), "test"); err != nil {
		t.Fatal(err)
	}
	err = s.History.Publish(t.Context(), store.Publication{
		Key: key, Holder: "test", After: store.HistoryEnd{Ordinal: 1}, Project: project, Facts: []chronicle.Fact{{Category: "WORKFLOW_RULES", Content: content}},
		Compartments: []chronicle.Compartment{{Start: 1, End: 1, Keys: []string{"a"}, Title: "T", MadeBy: "model"}},
		Run:          work.RunRow{Kind: "incremental", Pass: 1, Status: work.Success},
	})
	if err != nil {
		t.Fatal(err)
	}
}
