package host

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/marker"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/opencodedb"
)

// withMarkers returns an empty session that sets markers, and the harness's own store.
func withMarkers(t *testing.T) (h *harness, db *rawhistorytest.OpenCode) {
	home := t.TempDir()
	db = rawhistorytest.NewOpenCode(t, home)
	h = answering(t, good)
	h.config.CompactionMarkers = true
	h.markers = map[schema.Harness]Markers{schema.HarnessOpenCode: marker.OpenCode{Env: func(name string) string {
		return map[string]string{"HOME": home}[name]
	}}}
	h.restart()
	return h, db
}

// keep puts the messages into the harness's own store.
func (h *harness) keep(db *rawhistorytest.OpenCode) {
	db.Add(testSession, h.messages)
	db.Exec(`UPDATE message SET time_created = time_created + 5 WHERE id LIKE 'a%'`) // an answer comes after its prompt
}

// marking returns a session with markers whose historian has published. It also returns the harness's own
// store. The next bust shows the compartments.
func marking(t *testing.T) (h *harness, db *rawhistorytest.OpenCode) {
	h, db = withMarkers(t)
	h.talk(0, 20, 950, 40_000)
	h.user("now", "go on")
	h.pass()
	h.settle()
	if len(h.compartments()) == 0 {
		t.Fatal("nothing is published")
	}
	h.keep(db)
	return h, db
}

// bust runs a pass that the user asked for, and waits for its work in the background.
func (h *harness) bust() {
	h.t.Helper()
	h.flush()
	h.pass()
	h.settle()
}

func (h *harness) marks(db *rawhistorytest.OpenCode) (all []opencodedb.Marker) {
	h.t.Helper()
	err := opencodedb.Read(h.t.Context(), db.Path, func(d *opencodedb.DB) (err error) {
		all, err = d.Markers(testSession)
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

func (h *harness) recorded() markers {
	h.t.Helper()
	sum, err := h.store.History(h.t.Context(), testKey)
	if err != nil {
		h.t.Fatal(err)
	}
	return readMarkers(sum.PendingMarker, sum.AppliedMarker)
}

// reread replaces the array by the array that the harness delivers if the marker is set at a boundary.
func (h *harness) reread(m opencodedb.Marker) {
	h.t.Helper()
	at := slices.IndexFunc(h.messages, func(raw json.Value) bool { return transcript.OpenCode{}.Decode(raw).Key == m.Boundary })
	if at < 0 {
		h.t.Fatalf("boundary %s is not in the array", m.Boundary)
	}
	summary := json.Value(fmt.Sprintf(`{"info":{"id":%q,"sessionID":"ses_1","role":"assistant","parentID":%q,"summary":true,"finish":"stop","time":{"created":1,"completed":1},`+
		`"providerID":"magicctx","modelID":"magicctx"},"parts":[{"id":%q,"type":"text","text":"…"}]}`, m.Summary, m.Boundary, m.SummaryPart))
	boundary, isPrompt := strings.CutSuffix(string(h.messages[at]), `]}`)
	if !isPrompt {
		h.t.Fatalf("boundary %s", h.messages[at])
	}
	boundary += fmt.Sprintf(`,{"id":%q,"type":"compaction","auto":true}]}`, m.CompactionPart)
	h.messages = slices.Concat([]json.Value{json.Value(boundary), summary}, h.messages[at+1:])
	h.told, h.revision = 0, 0
}

func TestMarkerIsSetAfterTheBustThatShowsTheHistory(t *testing.T) {
	h, db := marking(t)
	end := h.compartments()[0]
	if m := h.recorded(); m.pending.EndMessageID != history.LastKey(end.Keys) || m.pending.Ordinal != end.End || m.applied.isSet() || len(h.marks(db)) > 0 {
		t.Fatalf("before the bust: %+v, %v", m, h.marks(db))
	}
	h.bust()
	set := h.marks(db)
	m := h.recorded()
	if len(set) != 1 || m.pendingText != "" || m.applied != (appliedMarker{set[0].Boundary, end.End}) {
		t.Fatalf("after the bust: %+v, %v", m, set)
	}
	wire := h.wire()
	h.reread(set[0])
	if p := h.pass(); p.Verdict != schema.Steady || h.wire() != wire {
		t.Errorf("%s pass (%s):\n%s\nbefore:\n%s", p.Verdict, p.Cause, h.wire(), wire)
	}
	h.settle()
	if got := h.marks(db); !slices.Equal(got, set) {
		t.Errorf("the marker became %v", got)
	}
}

// The head pins the prompt that the model is answering, and a small one before it. So the marker stands before
// both, although the head covers a part of the turn.
func TestMarkerHidesNoPinnedPrompt(t *testing.T) {
	h, db := withMarkers(t)
	h.talk(0, 4, 50, 1000)
	h.clock.Advance(time.Second)
	h.user("long", "do it step by step")
	for i := range 6 {
		h.clock.Advance(time.Second)
		h.tool(fmt.Sprintf("a-long-%d", i), strings.Repeat("line ", 50), "tool-calls", 1200+100*i)
	}
	h.pass()
	h.keep(db)
	c := store.CompartmentRow{Start: 1, End: 11, Title: "T", Tiers: [4]string{"one"}, Importance: 50, MadeBy: "model"} // to the second step
	for _, m := range h.messages[:c.End] {
		c.Keys = append(c.Keys, h.codec.Decode(m).Key)
	}
	if ok, err := h.store.AcquireLease(t.Context(), testKey, "test"); err != nil || !ok {
		t.Fatalf("lease: %v, %v", ok, err)
	}
	err := h.store.PublishHistory(t.Context(), store.Publication{
		Key: testKey, Holder: "test", After: store.HistoryEnd{Ordinal: 1}, Run: store.RunRow{Kind: "incremental"}, Compartments: []store.CompartmentRow{c},
		Marker: fmt.Sprintf(`{"endMessageId":%q,"ordinal":11,"publishedAt":1}`, c.Keys[10]),
	})
	if err != nil {
		t.Fatal(err)
	}
	h.reopen()
	h.bust()
	if want := []string{"u003", "long"}; !slices.Equal(h.pinned, want) || h.cut != c.End {
		t.Fatalf("the head covers %d messages and pins %v, want %d and %v", h.cut, h.pinned, c.End, want)
	}
	// The newest prompt before u003, message 7, is u002. Message 6 is its answer.
	set := h.marks(db)
	if len(set) != 1 || set[0].Boundary != "u002" || h.recorded().applied != (appliedMarker{"u002", 6}) {
		t.Fatalf("the markers %+v, recorded as %+v", set, h.recorded())
	}
	wire := h.wire()
	h.reread(set[0])
	if p := h.pass(); p.Verdict != schema.Steady || h.wire() != wire {
		t.Errorf("%s pass (%s):\n%s\nbefore:\n%s", p.Verdict, p.Cause, h.wire(), wire)
	}
}

// If markers are switched off, a session gets its whole array back when the harness starts.
func TestMarkerGoesWhenItIsSwitchedOff(t *testing.T) {
	h, db := marking(t)
	h.bust()
	if len(h.marks(db)) != 1 {
		t.Fatal("no marker")
	}
	h.config.CompactionMarkers = false
	h.restart()
	h.settle()
	if got := h.marks(db); len(got) > 0 || h.recorded() != (markers{}) {
		t.Errorf("left: %v, %+v", got, h.recorded())
	}
}

// A crash between the two stores leaves a marker without a record, or a record without its rows. At the next
// start the host removes both, and the next publication sets a marker again.
func TestMarkerIsCheckedAtStart(t *testing.T) {
	for name, sql := range map[string]string{
		"no summary":         `DELETE FROM message WHERE data LIKE '%"magicctx"%'`,
		"no compaction part": `DELETE FROM part WHERE data LIKE '%"compaction"%'`,
		"no summary text":    `DELETE FROM part WHERE data LIKE '%by magicctx%'`,
	} {
		t.Run(name, func(t *testing.T) {
			h, db := marking(t)
			h.bust()
			db.Exec(sql)
			h.restart()
			h.settle()
			if got := h.marks(db); len(got) > 0 || h.recorded().applied.isSet() {
				t.Errorf("left: %v, %+v", got, h.recorded())
			}
		})
	}
	t.Run("whole", func(t *testing.T) {
		h, db := marking(t)
		h.bust()
		set := h.marks(db)
		h.restart()
		h.settle()
		if got := h.marks(db); !slices.Equal(got, set) || !h.recorded().applied.isSet() {
			t.Errorf("%v became %v", set, got)
		}
	})
	t.Run("no record", func(t *testing.T) {
		h, db := marking(t)
		h.bust()
		set := h.marks(db)
		if err := h.store.SaveAppliedMarker(t.Context(), testKey, "", ""); err != nil {
			t.Fatal(err)
		}
		h.host.sessions.Remove(testKey)
		h.reread(set[0])
		h.pass()
		h.settle()
		if got := h.marks(db); len(got) > 0 {
			t.Errorf("left: %v", got)
		}
	})
}

// The host does not change a database of another OpenCode release. The marker waits, and the status names the
// reason.
func TestMarkerRefusesAnotherRelease(t *testing.T) {
	h, db := marking(t)
	db.Exec(`INSERT INTO migration VALUES ('20990101000000_later', 1)`)
	h.bust()
	if len(h.marks(db)) > 0 || h.recorded().pendingText == "" {
		t.Errorf("%v, %+v", h.marks(db), h.recorded())
	}
	isNamed := slices.ContainsFunc(h.host.warnings(), func(w schema.Warning) bool { return w.Source == "markers" })
	if !isNamed {
		t.Errorf("warnings %+v", h.host.warnings())
	}
}

func TestMarkerGoesWithItsSession(t *testing.T) {
	h, db := marking(t)
	h.bust()
	event := json.Value(`{"type":"session.deleted","properties":{"info":{"id":"ses_1"}}}`)
	if _, err := h.host.Event(t.Context(), h, schema.EventParams{Session: testSession, Event: event}); err != nil {
		t.Fatal(err)
	}
	if got := h.marks(db); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
}

// The vector TV-23: which markers become pointless. The compartments are 1-4 and 5-7.
func TestMarkerOutcomes(t *testing.T) {
	two := []history.Compartment{{Start: 1, End: 4, Keys: []string{"m1", "m2", "m3", "m4"}}, {Start: 5, End: 7, Keys: []string{"m5", "m6", "m7"}}}
	ask := func(ordinal int, end string) markers {
		text, _ := json.Marshal(pendingMarker{EndMessageID: end, Ordinal: ordinal, PublishedAt: 5})
		return readMarkers(string(text), "")
	}
	bust := markerMoment{isOn: true, isBust: true, head: frozen.Head{Ordinal: 7}, compartments: two}
	tests := []struct {
		name      string
		ordinal   int
		end       string
		pointless bool
	}{
		{"superseded", 6, "m7", true},
		{"the compartment is gone", 6, "m6", true},
		{"a later compartment is gone", 9, "m9", true},
		{"due", 7, "m7", false},
	}
	for _, c := range tests {
		m := ask(c.ordinal, c.end)
		got, ok := m.next(bust)
		if !ok || got.isPointless != c.pointless || got.done != m.pendingText || !c.pointless && got.to != (history.Anchor{Ordinal: 7, Key: "m7"}) {
			t.Errorf("%s: %+v, %v", c.name, got, ok)
		}
	}
	current := ask(7, "m7")
	current.applied = appliedMarker{"m7", 7}
	if got, ok := current.next(bust); !ok || !got.isPointless {
		t.Errorf("already there: %+v, %v", got, ok)
	}
	if got, ok := ask(7, "m7").next(markerMoment{isOn: true, head: bust.head, compartments: two}); ok {
		t.Errorf("a steady pass: %+v", got)
	}
	if got, ok := ask(7, "m7").next(markerMoment{isOn: true, isBust: true, head: frozen.Head{Ordinal: 4}, compartments: two}); ok {
		t.Errorf("the head does not cover it: %+v", got)
	}
	for _, c := range []struct{ pinned, applied, place int }{
		{7, 0, 6}, {5, 0, 4}, {3, 0, 2}, {1, 0, 0}, {3, 1, 2}, {3, 2, 0}, {7, 6, 0},
	} {
		m, now := ask(7, "m7"), bust
		if c.applied > 0 {
			m.applied = appliedMarker{fmt.Sprintf("m%d", c.applied), c.applied}
		}
		now.head.Pinned = [frozen.MaxPinned]string{fmt.Sprintf("m%d", c.pinned), "m7"}
		got, ok := m.next(now)
		want := markerTask{}
		if c.place > 0 {
			want = markerTask{to: history.Anchor{Ordinal: c.place, Key: fmt.Sprintf("m%d", c.place)}, done: m.pendingText}
		}
		if ok != (c.place > 0) || got != want {
			t.Errorf("message %d is pinned, the marker stands at %d: %+v, %v, want %+v", c.pinned, c.applied, got, ok, want)
		}
	}
	reverted := markers{applied: appliedMarker{"m9", 9}}
	now := bust
	now.head.Pinned[1] = "m5"
	if got, ok := reverted.next(now); !ok || got.to != (history.Anchor{Ordinal: 4, Key: "m4"}) {
		t.Errorf("after a revert: %+v, %v", got, ok)
	}
	now.head.Pinned[1] = "m1"
	if got, ok := reverted.next(now); !ok || got != (markerTask{}) {
		t.Errorf("after a revert without a place: %+v, %v", got, ok)
	}
}

// A prompt that no compartment names could be anywhere.
func TestFirstPinned(t *testing.T) {
	all := []history.Compartment{{Start: 1, End: 2, Keys: []string{"m1", ""}}, {Start: 3, End: 4, Keys: []string{"m3", "m4"}}}
	for _, c := range []struct {
		pinned [frozen.MaxPinned]string
		want   int
	}{{[2]string{}, 0}, {[2]string{"", "m3"}, 3}, {[2]string{"m1", "m3"}, 1}, {[2]string{"m4", "m3"}, 3}, {[2]string{"m3", "other"}, 1}} {
		if got := firstPinned(frozen.Head{Pinned: c.pinned}, session.AnchorsOf(all)); got != c.want {
			t.Errorf("%q: %d, want %d", c.pinned, got, c.want)
		}
	}
}

// A marker hides the messages before it. So it is set only if compartments and the head cover all of these
// messages, and the head pins none of them. It is removed if no compartment reaches it. Both hold for any recorded state.
func TestMarkerNeverHidesWhatNothingCovers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := markerMoment{isOn: rapid.Bool().Draw(rt, "on"), isBust: rapid.Bool().Draw(rt, "bust")}
		end := 0
		for range rapid.IntRange(0, 3).Draw(rt, "compartments") {
			c := history.Compartment{Start: end + 1, End: end + rapid.IntRange(1, 3).Draw(rt, "length")}
			for n := c.Start; n <= c.End; n++ {
				c.Keys = append(c.Keys, fmt.Sprintf("m%d", n))
			}
			end = c.End
			now.compartments = append(now.compartments, c)
		}
		now.head.Ordinal = rapid.IntRange(0, end).Draw(rt, "covered")
		pinned := rapid.IntRange(0, now.head.Ordinal).Draw(rt, "first pinned prompt")
		if pinned > 0 {
			now.head.Pinned = [frozen.MaxPinned]string{fmt.Sprintf("m%d", pinned), fmt.Sprintf("m%d", rapid.IntRange(pinned, now.head.Ordinal).Draw(rt, "second one"))}
		}
		m := markers{}
		if n := rapid.IntRange(0, 9).Draw(rt, "applied"); n > 0 {
			m.applied = appliedMarker{fmt.Sprintf("m%d", n), n}
			now.found = rapid.SampledFrom([]string{"", m.applied.BoundaryMessageID, "other"}).Draw(rt, "found")
		}
		if n := rapid.IntRange(0, 9).Draw(rt, "pending"); n > 0 {
			m.pending, m.pendingText = pendingMarker{fmt.Sprintf("m%d", n), n, 1}, "pending"
		}
		t, ok := m.next(now)
		stays := !ok || t.isPointless
		switch {
		case stays && m.applied.isSet() && (!now.isOn || m.applied.Ordinal > end):
			rt.Fatalf("a marker at %d stays: %+v", m.applied.Ordinal, now)
		case !stays && t.to.Ordinal > end:
			rt.Fatalf("a marker at %d is set: %+v", t.to.Ordinal, now)
		case !stays && t.to.Ordinal > now.head.Ordinal && !(m.applied.Ordinal > t.to.Ordinal):
			rt.Fatalf("a marker at %d hides what the head does not cover: %+v", t.to.Ordinal, now)
		case !stays && pinned > 0 && t.to.Ordinal >= pinned:
			rt.Fatalf("a marker at %d hides a prompt that stays on the wire: %+v", t.to.Ordinal, now)
		case !stays && t.to.Key != "" && t.to.Key != fmt.Sprintf("m%d", t.to.Ordinal):
			rt.Fatalf("message %d is not %s", t.to.Ordinal, t.to.Key)
		}
	})
}
