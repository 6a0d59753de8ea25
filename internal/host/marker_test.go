package host

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/marker"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/opencodedb"
)

// marking returns a session with markers whose historian has published. It also returns the harness's own
// store. The next bust shows the compartments.
func marking(t *testing.T) (h *harness, db *rawhistorytest.OpenCode) {
	home := t.TempDir()
	db = rawhistorytest.NewOpenCode(t, home)
	h = answering(t, good)
	h.config.CompactionMarkers = true
	h.markers = map[schema.Harness]Markers{schema.HarnessOpenCode: marker.OpenCode{Env: func(name string) string {
		return map[string]string{"HOME": home}[name]
	}}}
	h.restart()
	h.talk(0, 20, 950, 40_000)
	h.user("now", "go on")
	h.pass()
	h.settle()
	if len(h.compartments()) == 0 {
		t.Fatal("nothing is published")
	}
	db.Add(testSession, h.messages)
	db.Exec(`UPDATE message SET time_created = time_created + 5 WHERE id LIKE 'a%'`) // an answer comes after its prompt
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
	return readMarkers(sum)
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
	h.messages = slices.Concat(h.messages[at:at+1], []json.Value{summary}, h.messages[at+1:])
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
	boundary := slices.IndexFunc(h.messages, func(raw json.Value) bool {
		return len(set) == 1 && transcript.OpenCode{}.Decode(raw).Key == set[0].Boundary
	})
	if len(set) != 1 || m.pendingText != "" || m.applied != (appliedMarker{set[0].Boundary, boundary + 1, end.End}) {
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
		h.host.sessions.remove(testKey)
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
		return readMarkers(store.HistorySummary{HistoryRow: store.HistoryRow{PendingMarker: string(text)}})
	}
	bust := markerMoment{isOn: true, isBust: true, covered: 7, compartments: two}
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
	current.applied = appliedMarker{"m7", 7, 7}
	if got, ok := current.next(bust); !ok || !got.isPointless {
		t.Errorf("already there: %+v, %v", got, ok)
	}
	if got, ok := ask(7, "m7").next(markerMoment{isOn: true, covered: 7, compartments: two}); ok {
		t.Errorf("a steady pass: %+v", got)
	}
	if got, ok := ask(7, "m7").next(markerMoment{isOn: true, isBust: true, covered: 4, compartments: two}); ok {
		t.Errorf("the head does not cover it: %+v", got)
	}
}

// A marker hides the messages before it. So it is set only if compartments and the head cover all of these
// messages. It is removed if no compartment reaches it. Both hold for any recorded state.
func TestMarkerNeverHidesWhatNothingCovers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := markerMoment{isOn: rapid.Bool().Draw(rt, "on"), isBust: rapid.Bool().Draw(rt, "bust")}
		end := 0
		for range rapid.IntRange(0, 3).Draw(rt, "compartments") {
			c := history.Compartment{Start: end + 1, End: end + rapid.IntRange(1, 3).Draw(rt, "length")}
			c.Keys, end = []string{fmt.Sprintf("m%d", c.End)}, c.End
			now.compartments = append(now.compartments, c)
		}
		now.covered = rapid.IntRange(0, end).Draw(rt, "covered")
		m := markers{}
		if n := rapid.IntRange(0, 9).Draw(rt, "applied"); n > 0 {
			m.applied = appliedMarker{fmt.Sprintf("m%d", n), n, n}
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
		case !stays && t.to.Ordinal > now.covered && !(m.applied.Ordinal > t.to.Ordinal):
			rt.Fatalf("a marker at %d hides what the head does not cover: %+v", t.to.Ordinal, now)
		}
	})
}
