package pipeline

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

func TestLeavingEqualsTheRemovalsOfTheNextBust(t *testing.T) {
	bothCodecs(t, func(t *testing.T, codec transcript.Codec) {
		w := talked(t, codec, 8, 4)
		leaving := func() int { return w.session.Leaving(w.readings.History) }
		if got := leaving(); got != 0 {
			t.Fatalf("%d tokens leave, although the head shows all compartments", got)
		}
		w.publish(7, 50)
		want := -len(w.readings.History.Compartments[1].Tiers[0]) / BytesPerToken
		for i := 4; i < 8; i++ {
			want += w.session.tokensOf(&w.session.entries[i])
		}
		if got := leaving(); got != want || got < 4*20 {
			t.Errorf("%d tokens leave with the messages 5 to 8, want %d", got, want)
		}
		covered, behind := w.session.entries[7].items[0].Tag, w.session.entries[9].items[0].Tag
		w.queue(covered, behind)
		if want += w.session.State.ByTag(behind).Left(); leaving() != want {
			t.Errorf("%d tokens leave with a drop after them, want %d", leaving(), want)
		}
		w.readings.Flush = true
		w.pass()
		if got := leaving(); got != 0 {
			t.Errorf("%d tokens leave after a flush", got)
		}
	})
}
