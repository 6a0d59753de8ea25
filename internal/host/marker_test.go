package host

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/marker"
	"github.com/magicctx/magicctx-host/internal/marking"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/opencodedb"
	"github.com/magicctx/magicctx-host/store/work"
)

func withMarkers(t *testing.T) (h *harness, db *rawhistorytest.OpenCode) {
	home := t.TempDir()
	db = rawhistorytest.NewOpenCode(t, home)
	h = answering(t, good)
	h.config.CompactionMarkers = true
	h.markers = map[schema.Harness]marking.Markers{schema.HarnessOpenCode: marker.OpenCode{Env: func(name string) string {
		return map[string]string{"HOME": home}[name]
	}}}
	h.restart()
	return h, db
}

func (h *harness) keep(db *rawhistorytest.OpenCode) {
	db.Add(testSession, h.messages)
	db.Exec(`UPDATE message SET time_created = time_created + 5 WHERE id LIKE 'a%'`) // each answer is newer than its prompt
}

// marked returns a session and the harness's own store. The session has published compartments, which the next bust
// will show.
func marked(t *testing.T) (h *harness, db *rawhistorytest.OpenCode) {
	h, db = withMarkers(t)
	h.talkLong()
	if len(h.compartments()) == 0 {
		t.Fatal("nothing is published")
	}
	h.keep(db)
	return h, db
}

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

type setMarker struct {
	BoundaryMessageID string `json:"boundaryMessageId"`
	Ordinal           int    `json:"ordinal"`
}

func (m setMarker) isSet() bool { return m.BoundaryMessageID != "" }

type recordedMarkers struct {
	pendingText string
	pending     struct {
		EndMessageID string `json:"endMessageId"`
		Ordinal      int    `json:"ordinal"`
	}
	applied setMarker
}

func (h *harness) recorded() recordedMarkers {
	h.t.Helper()
	sum, err := h.store.History.Summary(h.t.Context(), testKey)
	if err != nil {
		h.t.Fatal(err)
	}
	all := recordedMarkers{pendingText: sum.PendingMarker}
	for text, record := range map[string]any{sum.PendingMarker: &all.pending, sum.AppliedMarker: &all.applied} {
		if text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(text), record); err != nil {
			h.t.Fatal(err)
		}
	}
	return all
}

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
	h, db := marked(t)
	end := h.compartments()[0]
	if m := h.recorded(); m.pending.EndMessageID != chronicle.LastKey(end.Keys) || m.pending.Ordinal != end.End || m.applied.isSet() || len(h.marks(db)) > 0 {
		t.Fatalf("before the bust: %+v, %v", m, h.marks(db))
	}
	h.bust()
	set := h.marks(db)
	m := h.recorded()
	if len(set) != 1 || m.pendingText != "" || m.applied != (setMarker{set[0].Boundary, end.End}) {
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

// The head pins the prompt that the model is answering, and a small prompt before it. The marker must be before both
// prompts, although the head covers a part of the turn.
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
	c := chronicle.Compartment{Start: 1, End: 11, Title: "T", Tiers: [4]string{"one"}, Importance: 50, MadeBy: "model"} // the end is the turn's second step
	for _, m := range h.messages[:c.End] {
		c.Keys = append(c.Keys, h.codec.Decode(m).Key)
	}
	if ok, err := h.store.Leases.Acquire(t.Context(), store.HistorianOf(testKey), "test"); err != nil || !ok {
		t.Fatalf("lease: %v, %v", ok, err)
	}
	err := h.store.History.Publish(t.Context(), store.Publication{
		Key: testKey, Holder: "test", After: store.HistoryEnd{Ordinal: 1}, Run: work.RunRow{Kind: "incremental"}, Compartments: []chronicle.Compartment{c},
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
	// The first pinned prompt, u003, is message 7, so the marker must be at message 6. This is the answer to u002, so the
	// boundary is u002.
	set := h.marks(db)
	if len(set) != 1 || set[0].Boundary != "u002" || h.recorded().applied != (setMarker{"u002", 6}) {
		t.Fatalf("the markers %+v, recorded as %+v", set, h.recorded())
	}
	wire := h.wire()
	h.reread(set[0])
	if p := h.pass(); p.Verdict != schema.Steady || h.wire() != wire {
		t.Errorf("%s pass (%s):\n%s\nbefore:\n%s", p.Verdict, p.Cause, h.wire(), wire)
	}
}

// If the user switches markers off, the host removes the marker. The harness then sends the whole array at its next
// start.
func TestMarkerIsRemovedWhenSwitchedOff(t *testing.T) {
	h, db := marked(t)
	h.bust()
	if len(h.marks(db)) != 1 {
		t.Fatal("no marker")
	}
	h.config.CompactionMarkers = false
	h.restart()
	h.settle()
	if got := h.marks(db); len(got) > 0 || h.recorded() != (recordedMarkers{}) {
		t.Errorf("left: %v, %+v", got, h.recorded())
	}
}

// If the host crashes between the writes to the two stores, there is a marker without a record, or a record without a
// marker. At its next start, the host must remove whichever exists. The next publication must set a marker again.
func TestMarkerIsCheckedAtStart(t *testing.T) {
	t.Run("torn", func(t *testing.T) {
		h, db := marked(t)
		h.bust()
		db.Exec(`DELETE FROM part WHERE data LIKE '%by magicctx%'`)
		h.restart()
		h.settle()
		if got := h.marks(db); len(got) > 0 || h.recorded().applied.isSet() {
			t.Errorf("left: %v, %+v", got, h.recorded())
		}
	})
	t.Run("whole", func(t *testing.T) {
		h, db := marked(t)
		h.bust()
		set := h.marks(db)
		h.restart()
		h.settle()
		if got := h.marks(db); !slices.Equal(got, set) || !h.recorded().applied.isSet() {
			t.Errorf("%v became %v", set, got)
		}
	})
	t.Run("no record", func(t *testing.T) {
		h, db := marked(t)
		h.bust()
		set := h.marks(db)
		if err := h.store.Markers.SaveApplied(t.Context(), testKey, "", ""); err != nil {
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

// A newer release of OpenCode may use its database differently. The host must not write the marker into such a
// database. It keeps the marker for later, and the status gives the reason.
func TestMarkerRefusesAnotherRelease(t *testing.T) {
	h, db := marked(t)
	db.Exec(`INSERT INTO migration VALUES ('20990101000000_later', 1)`)
	h.bust()
	if len(h.marks(db)) > 0 || h.recorded().pendingText == "" {
		t.Errorf("%v, %+v", h.marks(db), h.recorded())
	}
	isNamed := slices.ContainsFunc(h.status().Warnings, func(w schema.Warning) bool { return w.Source == "markers" })
	if !isNamed {
		t.Errorf("warnings %+v", h.status().Warnings)
	}
}

func TestMarkerIsRemovedWithItsSession(t *testing.T) {
	h, db := marked(t)
	h.bust()
	event := json.Value(`{"type":"session.deleted","properties":{"info":{"id":"ses_1"}}}`)
	if _, err := h.host.Event(t.Context(), h, schema.EventParams{Session: testSession, Event: event}); err != nil {
		t.Fatal(err)
	}
	if got := h.marks(db); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
}
