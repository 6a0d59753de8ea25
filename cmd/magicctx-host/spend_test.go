package main

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/view"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/work"
)

func TestSpend(t *testing.T) {
	if out, errs, code := runReal(t, "spend", "--data-dir", t.TempDir()); code != exitOK || !strings.Contains(out, "have asked no model") {
		t.Errorf("without a database: exit code %d, %s%s", code, out, errs)
	}
	dir, now := t.TempDir(), clock.NewManual(time.Now().AddDate(0, 0, -3).UnixMilli())
	host, err := store.Open(t.Context(), store.Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Clock: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close() })
	cost := int64(chronicle.Dollar / 4)
	for range 2 {
		tidier := work.Work{Agent: "tidier", Subject: work.Subject{Project: "git:1"}}
		if _, err := host.Leases.Acquire(t.Context(), tidier, "1.2"); err != nil {
			t.Fatal(err)
		}
		id, err := host.Calls.Reserve(t.Context(), tidier, "1.2", chronicle.Call{Directory: "/p"}, work.Spent{Tokens: 9}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := host.Calls.Settle(t.Context(), id, chronicle.Call{Model: "p/m", Input: 1, CacheRead: 2, Cost: &cost}, work.Spent{Tokens: 3}); err != nil {
			t.Fatal(err)
		}
		now.Advance(72 * time.Hour)
	}
	if out, errs, code := runReal(t, "spend", "--data-dir", dir); code != exitOK || !strings.Contains(out, "$0.50") || !strings.Contains(out, "tidier") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	// The bug: even when its output went into a pipe, `spend` wrapped long lines of a report, and so broke the commands
	// in them.
	report := "The dreamer has merged 3 memories of the project, and has corrected 2; magicctx-host memory restore --run 1 takes it back."
	if err := host.Runs.Record(t.Context(), work.Work{Agent: work.Dreamer, Subject: work.Subject{Project: "git:1"}}, work.RunRow{Status: work.Success, Reason: report, StartedAt: now.Now()}, 0); err != nil {
		t.Fatal(err)
	}
	if out, _, _ := runReal(t, "spend", "--data-dir", dir); !strings.Contains(out, "  $0  "+report+"\n") || strings.Contains(out, "wider terminal") {
		t.Errorf("in a pipe:\n%s", out)
	}
	if out, errs, code := runReal(t, "spend", "--days", "0", "--data-dir", dir); code != exitUsage || !strings.Contains(errs, "--days is 0") {
		t.Errorf("no day: exit code %d, %s%s", code, out, errs)
	}
	out, errs, code := runReal(t, "spend", "--days", "2", "--json", "--data-dir", dir)
	var got view.Spend
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK || len(got.Rows) != 1 || got.Total.Money != 0.25 || got.Rows[0].CacheRead != 2 {
		t.Errorf("exit code %d, %v, %s%s", code, err, out, errs)
	}
}
