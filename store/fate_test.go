package store

import "testing"

func TestFateOfAMessage(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	for n := 1; n <= 4; n++ {
		p := commit(key, n)
		switch n {
		case 2:
			p.Edits = []EditRow{{Tag: 2, Kind: "skeleton", Pass: 2, Payload: "stale output"}, {Tag: 3, Kind: "unthink", Pass: 2}}
			p.Pass.Cause = "idle"
		case 3:
			p.Edits = []EditRow{{Tag: 2, Kind: "drop", Pass: 3, Payload: "old skeletons"}}
			p.Pass.Cause = "pressure"
		case 4:
			p.Head, p.Pass.Cause = head(1), "overflow"
			p.Removals = []RemovalRow{{Rule: RuleSummaries, Tokens: 100, Through: 9}}
		}
		must(t, s.CommitPass(t.Context(), p))
	}
	must(t, Browse(t.Context(), dir, func(b *Browser) error {
		for _, c := range []struct {
			about, message string
			ordinal        int
			want           Fate
		}{
			{"dropped and summarised", "msg_1", 1, Fate{
				IsKnown:    true,
				Removed:    []RemovedUnit{{Tag: 2, Kind: "tool", Tool: "bash", Edit: "drop", Rule: "old skeletons", Leaving: Leaving{3, now + 3, "pressure"}}},
				Summarised: &Leaving{4, now + 4, "overflow"},
			}},
			{"pinned", "msg_8", 8, Fate{IsKnown: true, Summarised: &Leaving{4, now + 4, "overflow"}, IsPinned: true}},
			{"sent as it is", "msg_2", 10, Fate{IsKnown: true}},
			{"never sent", "msg_99", 99, Fate{}},
		} {
			got, err := b.Fate(key, c.message, c.ordinal)
			must(t, err)
			same(t, c.about, got, c.want)
		}
		return nil
	}))
}
