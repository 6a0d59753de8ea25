package session

import (
	"slices"
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/store"
)

// In a fork, Pi keeps the keys of the copied messages. A compaction hides some of them, but the user can go back to
// them. So the fork's compartments must keep the keys of the hidden messages. Then the head still covers these messages
// when they come back.
func TestHiddenMessagesKeepTheirKeysInAFork(t *testing.T) {
	rows := []chronicle.Compartment{{Start: 1, End: 2, Keys: []string{"a", "b"}}, {Start: 3, End: 4, Keys: []string{"c", "d"}}}
	copied := pipeline.Copy{IsCompacted: true, Messages: map[string]string{"c": "c", "d": "d"}}
	got := historyOfCopy(&store.HeadRow{ThroughKey: "b"}, rows, copied)
	if want := []string{"a", "b"}; len(got.rows) != 2 || !slices.Equal(got.rows[0].Keys, want) || got.head == nil || got.head.ThroughKey != "b" {
		t.Errorf("%+v", got)
	}
}
