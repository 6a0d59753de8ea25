package e2e

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/opencodedb"
)

// A marker makes OpenCode read only the messages that the head does not replace. So OpenCode's array becomes short, but
// the requests must stay the same. If the user switches markers off, the marker must disappear.
func TestMarker(t *testing.T) {
	needs(t, schema.HarnessOpenCode)
	t.Parallel()
	w := newWorldOf(t, schema.HarnessOpenCode, suite.Root(t), map[string]string{"notes.txt": "the answer is 41\n"})
	w.mock.AddRule(mockllm.Rule{Name: "title", Match: mockllm.Model("claude-mini-5-0"), Answer: mockllm.Always(mockllm.Say("A question"))})
	w.configure(`{"compaction_markers": true}`)
	options := w.withPlugin()
	a := w.launch(options)
	session := w.session(a)
	k := &headKeeper{world: w, agent: a, session: session, marks: true}
	for turn := 1; turn <= 4; turn++ {
		k.turn(turn)
	}
	k.publish(1, 2)
	k.flush()
	k.turn(5)
	folded := k.newest()
	k.checkHead(folded, []int{1, 2}, nil)
	k.waitForMarker(session, 1)
	k.turn(6)
	k.checkSamePrefix(folded, k.newest())

	k.further = 1 // the compartment ends with the prompt of turn 4, so the marker is at that prompt
	k.publish(3)
	k.flush()
	k.turn(7)
	extended := k.firstOf(7)
	k.checkHead(extended, []int{1, 2}, []int{3})
	k.wantInBody(extended, promptOf(4), false)
	time.Sleep(200 * time.Millisecond)
	k.waitForMarker(session, 1)
	k.turn(8)
	k.checkSamePrefix(extended, k.newest())

	// A copy of the session must begin with the original's head. The marker in the copy must be removed.
	copied, err := a.Copy(w.ctx, session)
	if err != nil {
		t.Fatal(err)
	}
	c := &headKeeper{world: w, agent: a, session: copied}
	w.play(copied, c.answers()...)
	w.prompt(a, copied, promptOf(9))
	c.checkHead(c.newest(), []int{1, 2}, []int{3})
	k.waitForMarker(copied, 0)
	w.prompt(a, copied, promptOf(10))
	c.checkHead(c.newest(), []int{1, 2}, []int{3})
	for turn := 5; turn <= 8; turn++ {
		w.wantInBody(c.newest(), promptOf(turn), true)
	}

	w.stop(a)
	w.stopHost()
	rows := w.journal(session)
	// The array has turns 4 to 8 and the summary.
	if got, most := rows[len(rows)-1].Messages, 5*turnMessages+1; got > most {
		t.Errorf("OpenCode's array has %d messages, want at most %d", got, most)
	}
	checkBusts(t, w.requests(session), rows)
	for _, r := range slices.Concat(w.requests(session), w.requests(copied)) {
		w.wantInBody(r, opencodedb.Placeholder, false)
		w.wantInBody(r, "What did we do so far?", false) // OpenCode sends this for a compaction part
	}

	w.configure(`{"compaction_markers": false}`)
	a = w.launch(options)
	k.agent = a
	k.turn(11)
	k.waitForMarker(session, 0)
	k.turn(12)
	k.checkSamePrefix(extended, k.newest())
	w.stop(a)
	w.stopHost()
	rows = w.journal(session)
	if got, want := rows[len(rows)-1].Messages, 10*turnMessages-1; got != want {
		t.Errorf("without the marker, OpenCode's array has %d messages, want %d", got, want)
	}
}

func (k *headKeeper) waitForMarker(session string, n int) {
	k.t.Helper()
	path := filepath.Join(k.user.Home.Data, "opencode", "opencode.db")
	var all []opencodedb.Marker
	for range 600 {
		err := opencodedb.Read(k.ctx, path, func(db *opencodedb.DB) (err error) {
			all, err = db.Markers(session)
			return err
		})
		if err != nil {
			k.t.Fatal(err)
		}
		if len(all) == n && (n == 0 || all[0].CompactionPart != "" && all[0].SummaryPart != "") {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	k.t.Fatalf("session %s has the markers %+v, want %d", session, all, n)
}
