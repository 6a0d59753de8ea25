package session

import (
	"slices"
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/store"
)

// Pi keeps the keys of messages in a fork, and the user can go back to messages that a compaction hides. The
// compartments of these messages keep their keys, so that the head still covers them.
func TestHiddenMessagesKeepTheirKeysInAFork(t *testing.T) {
	rows := []chronicle.Compartment{{Start: 1, End: 2, Keys: []string{"a", "b"}}, {Start: 3, End: 4, Keys: []string{"c", "d"}}}
	copied := pipeline.Copy{IsCompacted: true, Messages: map[string]string{"c": "c", "d": "d"}}
	got := historyOfCopy(&store.HeadRow{ThroughKey: "b"}, rows, copied)
	if want := []string{"a", "b"}; len(got.rows) != 2 || !slices.Equal(got.rows[0].Keys, want) || got.head == nil || got.head.ThroughKey != "b" {
		t.Errorf("%+v", got)
	}
}
