package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/store"
)

// One pass is stored in a single transaction. Then the next host reads the session back.
func Example() {
	dir, err := os.MkdirTemp("", "magicctx")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Clock: clock.System{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()

	key := store.Key{Harness: "opencode", Session: "ses_1"}
	err = s.CommitPass(ctx, store.PassCommit{
		Session: store.SessionRow{Key: key, Mode: "primary", Passes: 1, TagCounter: 2},
		Units:   []store.UnitRow{{Tag: 1, UnitKey: "u1", Kind: "text"}, {Tag: 2, UnitKey: "a1", Kind: "tool", Tool: "read"}},
		Edits:   []store.EditRow{{Tag: 2, Kind: "drop", Pass: 1}},
		Pass:    store.PassRow{Pass: 1, Verdict: "soft", Cause: "flush"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	snap, found, err := s.Load(ctx, key)
	if err != nil || !found {
		fmt.Println(found, err)
		return
	}
	fmt.Println(len(snap.Units), "units, the newest is a", snap.Units[1].Tool)
	for _, e := range snap.Edits {
		fmt.Println(e.Kind, "of unit", e.Tag, "since pass", e.Pass)
	}
	// Output:
	// 2 units, the newest is a read
	// drop of unit 2 since pass 1
}
