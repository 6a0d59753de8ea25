package model

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/store"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/schema"
)

// Whatever cache hits and misses the host sees, the cache life that it learns from them must stay within the bounds.
// After a restart, the host must still know the same cache life.
func TestLearnedLifeSurvivesRestarts(t *testing.T) {
	now := clock.NewManual(1_700_000_000_000)
	log := slog.New(slog.DiscardHandler)
	db, err := store.Open(t.Context(), store.Options{Dir: t.TempDir(), Log: log, Clock: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	options := Options{Store: db, Guard: store.NewGuard(log, time.Second), Clients: client.NewRegistry(nil), Clock: now, Log: log}
	all, count := New(options), 0
	rapid.Check(t, func(r *rapid.T) {
		count++
		m := schema.Model{Provider: "p", ID: fmt.Sprintf("m%d", count)} // nothing is known of this model yet
		way := rapid.SampledFrom(route.All()).Draw(r, "route")
		for range rapid.IntRange(1, 12).Draw(r, "observations") {
			pause := time.Duration(rapid.Int64Range(0, 30*24*3600*1000).Draw(r, "pause")) * time.Millisecond >> rapid.IntRange(0, 16).Draw(r, "shorter")
			isRead, at := rapid.Bool().Draw(r, "read"), now.Now()
			err := all.LearnLife(t.Context(), m, func(l route.Learned) route.Learned {
				if isRead {
					return l.Read(way, pause.Truncate(time.Millisecond), at)
				}
				return l.Miss(way, pause.Truncate(time.Millisecond), at)
			})
			if err != nil {
				r.Fatal(err)
			}
			if life := way.Believe(nil, all.learnedLife(t.Context(), m), 0).Life; life < way.Shortest || life > way.Longest {
				r.Fatalf("a life of %v", life)
			}
		}
		before := all.learnedLife(t.Context(), m)
		all = New(options) // the next host has nothing in memory at first
		if after := all.learnedLife(t.Context(), m); after != before {
			r.Fatalf("%+v before a restart, %+v after it", before, after)
		}
	})
}
