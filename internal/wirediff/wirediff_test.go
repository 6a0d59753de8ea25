package wirediff

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/store"
)

var raws = []string{
	`{"info":{"id":"m1","role":"user","time":{"created":1}},"parts":[{"id":"p1","type":"text","text":"find the zebra"}]}`,
	`{"info":{"id":"m2","role":"assistant","time":{"created":2,"completed":3},"finish":"tool-calls"},"parts":[
		{"id":"p2","type":"tool","tool":"read","callID":"c2","state":{"status":"completed","input":{"filePath":"src/zebra.go"},"output":"stripes \u001b[2J` + strings.Repeat("black and white ", 2000) + `","title":"","metadata":{},"time":{"start":1,"end":2}}},
		{"id":"p3","type":"tool","tool":"bash","callID":"c3","state":{"status":"completed","input":{"command":"ls"},"output":"zebra.go","title":"","metadata":{},"time":{"start":1,"end":2}}},
		{"id":"p4","type":"text","text":"The zebra is in src."}]}`,
	`{"info":{"id":"m3","role":"user","time":{"created":9}},"parts":[{"id":"p5","type":"text","text":"thanks"}]}`,
}

func unit(tag int, message, part, kind, tool string) store.UnitRow {
	return store.UnitRow{Tag: tag, UnitKey: message + "\x00p:" + part, MessageKey: message, Kind: kind, Tool: tool, Tokens: 100}
}

func request() Request {
	return Request{
		Key: store.Key{Harness: "opencode", Session: "s"}, Pass: 2, At: 5,
		Snap: store.Snapshot{
			Session: store.SessionRow{TagCounter: 9, Mode: "primary", Setup: store.SetupState{Profile: "anthropic"}},
			Units:   []store.UnitRow{unit(1, "m1", "p1", "text", ""), unit(2, "m2", "p2", "tool", "read"), unit(3, "m2", "p3", "tool", "bash"), unit(4, "m2", "p4", "text", ""), unit(9, "gone", "p9", "tool", "grep")},
			Edits: []store.EditRow{
				{Tag: 1, Kind: "drop", Pass: 1, Payload: "oldest texts"}, // before the request
				{Tag: 2, Kind: "skeleton", Pass: 2, Payload: "tool reclaim"},
				{Tag: 3, Kind: "drop", Pass: 2, Payload: "queued drops"},
				{Tag: 9, Kind: "drop", Pass: 2, Payload: "a rule of a newer host\x1b[2J"},
				{Tag: 4, Kind: "drop", Pass: 3, Payload: "spent narration"}, // after the request
			},
		},
	}
}

func stored(err error) Read {
	return func(_ context.Context, _ rawhistory.Session, start, end int, yield func(rawhistory.Message) bool) (rawhistory.Extent, error) {
		for i, raw := range raws {
			if n := i + 1; n >= start && n <= end && !yield(rawhistory.MessageOf(transcript.OpenCode{}, n, json.Value(raw))) {
				break
			}
		}
		return rawhistory.Extent{First: 1, Last: len(raws)}, err
	}
}

func TestADiffShowsEachPieceBeforeAndAfter(t *testing.T) {
	d, err := Of(t.Context(), request(), stored(nil))
	if err != nil || len(d.Changes) != 3 || d.Missing != "" {
		t.Fatalf("%+v, %v", d, err)
	}
	read, bash, gone := d.Changes[0], d.Changes[1], d.Changes[2]
	if read.Name != "§2§ read src/zebra.go" || read.Message != 2 || !strings.HasPrefix(read.Before.Text, `read {"filePath":"src/zebra.go"}`) || !strings.Contains(read.Before.Text, "§2§ stripes black") {
		t.Errorf("the call that was read is %.300q", fmt.Sprintf("%+v", read))
	}
	if read.Before.More == 0 || len(read.Before.Text) > maxText || !strings.HasSuffix(read.After.Text, "[dropped §2§]") || read.Freed == "" {
		t.Errorf("a long text has no end: %d more bytes, %s freed, then %q", read.Before.More, read.Freed, read.After.Text)
	}
	if bash.Before.Text != "bash {\"command\":\"ls\"}\n\n§3§ zebra.go" || bash.After.Note != "not sent" || bash.After.Text != "" || bash.Why != "The model had marked it as no longer needed." {
		t.Errorf("the call that is gone is %+v", bash)
	}
	if !strings.HasPrefix(gone.Before.Note, "The text is gone") || gone.Name != "§9§ grep" || strings.Contains(fmt.Sprint(d), "\x1b") {
		t.Errorf("the message that the harness has deleted is %+v", gone)
	}
}

func TestADiffSaysWhatTheHarnessNoLongerHas(t *testing.T) {
	r := request()
	d, err := Of(t.Context(), r, func(context.Context, rawhistory.Session, int, int, func(rawhistory.Message) bool) (rawhistory.Extent, error) {
		return rawhistory.Extent{}, errors.New("no such session")
	})
	if err != nil || d.Missing != "no such session" || len(d.Changes) != 3 || d.Changes[0].Before.Note == "" {
		t.Errorf("%+v, %v", d, err)
	}
	r.Pass = 7 // has changed nothing
	if d, err = Of(t.Context(), r, stored(nil)); err != nil || len(d.Changes) != 0 || !strings.Contains(d.Missing, "took nothing away") {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestSummariesStandForMessages(t *testing.T) {
	r := request()
	r.Covered, r.Through = 1, 2
	r.Summaries = []chronicle.Compartment{
		{Start: 1, End: 1, Title: "before", Tiers: [4]string{"old"}},
		{Start: 2, End: 2, Title: "Night\x1b[2J", Tiers: [4]string{"The zebra sleeps.\n"}, RawTokens: 5000},
	}
	d, err := Of(t.Context(), r, stored(nil))
	if err != nil || len(d.Changes) != 4 {
		t.Fatalf("%+v, %v", d, err)
	}
	if c := d.Changes[0]; c.First != 2 || c.Last != 2 || c.Freed != "5k" || c.After.Text != "Summary \"Night\":\nThe zebra sleeps." {
		t.Errorf("the summary is %+v", c)
	}
	r.Summaries = nil
	if d, err = Of(t.Context(), r, stored(nil)); err != nil || !strings.Contains(d.Changes[0].After.Note, "taken back") {
		t.Errorf("%+v, %v", d, err)
	}
}

// Several pieces may contain the words. Find must return a piece that the model no longer sees, and not one that is
// still on the wire.
func TestFindReturnsTheLostPieceWithTheWords(t *testing.T) {
	snap := request().Snap
	snap.Edits = snap.Edits[:3] // the first text and the outputs of read and bash
	for _, c := range []struct {
		about, words  string
		through       int
		message, want int
		pinned        string
	}{
		{"an output that became a skeleton", "Black AND\nwhite", 0, 2, 2, ""},
		{"a dropped output", "zebra.go", 0, 2, 3, ""}, // the skeleton of read still shows this file name
		{"a text that stays", "the zebra is", 0, 0, 0, ""},
		{"a text that is summarised", "the zebra is", 2, 2, 4, ""},
		{"a text that is summarised and pinned", "the zebra is", 2, 0, 0, `["m2"]`},
		{"words of two messages", "zebra", 2, 2, 4, ""},
		{"words of no message", "giraffe", 2, 0, 0, ""},
	} {
		snap.Head = &store.HeadRow{ThroughOrdinal: c.through, Pinned: c.pinned}
		found, err := Find(t.Context(), c.words, snap, rawhistory.Session{Harness: "opencode", ID: "s"}, stored(nil))
		if err != nil || (found == nil) != (c.want == 0) {
			t.Errorf("%s: %+v, %v", c.about, found, err)
		} else if found != nil && (found.Tag != c.want || found.Message.Ordinal != c.message) {
			t.Errorf("%s: piece %d of message %d, not %d of %d", c.about, found.Tag, found.Message.Ordinal, c.want, c.message)
		}
	}
}

func TestExcerptOfALongLineContainsTheWords(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 700) + " the needle is here", strings.Repeat("é", 700) + "\nthe needle\nis here", "the needle is here"} {
		lost := Lost{text: text}
		if got := lost.Excerpt("The needle is"); !Contains(got, "the needle is") || len(got) > 620 || !utf8.ValidString(got) {
			t.Errorf("%q", got)
		}
	}
}
