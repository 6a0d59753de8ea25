package store

import "testing"

func TestRepeatedToolCallQueuesNothing(t *testing.T) {
	s := openIn(t, t.TempDir())
	ctx := t.Context()
	must(t, s.CommitPass(ctx, commit(key, 1)))
	call := ToolReplyRow{CallID: "call_1", Reply: "queued §1§", At: now}
	must(t, s.QueueDrops(ctx, key, []DropRow{{Tag: 1, QueuedAt: now}}, call))

	drain := commit(key, 2)
	drain.Drained = []int{1}
	must(t, s.CommitPass(ctx, drain))

	again := call
	again.Reply = "something else"
	must(t, s.QueueDrops(ctx, key, []DropRow{{Tag: 1, QueuedAt: now + 1}}, again))
	if queued := load(t, s, key).Queued; len(queued) != 0 {
		t.Errorf("a repeated call queued %v", queued)
	}
	reply, _, err := s.ToolReply(ctx, key, "call_1")
	must(t, err)
	if reply != call.Reply {
		t.Errorf("reply is %q, want the first one", reply)
	}
}

func TestQueuedTagKeepsItsPlace(t *testing.T) {
	s := openIn(t, t.TempDir())
	first := []DropRow{{Tag: 9, QueuedAt: 1, Source: "a"}, {Tag: 3, QueuedAt: 2, Source: "a"}}
	must(t, s.QueueDrops(t.Context(), key, first, ToolReplyRow{}))
	must(t, s.QueueDrops(t.Context(), key, []DropRow{{Tag: 9, QueuedAt: 5, Source: "b"}}, ToolReplyRow{}))
	same(t, "queued", load(t, s, key).Queued, first)
}

func TestLaterEditOfAKindReplacesTheEarlier(t *testing.T) {
	s := openIn(t, t.TempDir())
	p := commit(key, 1)
	p.Edits = []EditRow{{Tag: 1, Kind: "compress", Pass: 1, Payload: "1"}, {Tag: 1, Kind: "drop", Pass: 1}}
	must(t, s.CommitPass(t.Context(), p))
	p = commit(key, 2)
	p.Edits = []EditRow{{Tag: 1, Kind: "compress", Pass: 2, Payload: "2"}}
	must(t, s.CommitPass(t.Context(), p))
	same(t, "edits", load(t, s, key).Edits,
		[]EditRow{{Tag: 1, Kind: "compress", Pass: 2, Payload: "2"}, {Tag: 1, Kind: "drop", Pass: 1}})
}
