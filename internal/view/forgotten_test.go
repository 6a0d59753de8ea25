package view

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestForgottenSaysWhenAndWhyAndWhatStandsForIt(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	f := Forgotten{
		Found:      Found{Kind: "text", Role: "user", Directory: "/p", Harness: "pi", Session: "s", Ordinal: 7, Text: "Never use\x1b[31m tabs."},
		IsKnown:    true,
		Dropped:    []DroppedPiece{{Tag: 12, Kind: "text", Edit: "drop", Rule: "queued drops", Leaving: Leaving{Pass: 3, At: at.UnixMilli(), Cause: "model-changed"}}},
		Summarised: &Leaving{Pass: 5}, Summary: &SummaryOf{Title: "Tabs", Start: 1, End: 9},
	}
	pinned := f
	pinned.IsPinned, pinned.Dropped = true, nil
	dropped := f
	dropped.Summarised, dropped.Summary = nil, nil
	for _, c := range []struct {
		about string
		f     Forgotten
		want  []string
	}{
		{"dropped and summarised", f, []string{
			"    Never use tabs.",
			`§12§ text left the prompt with request 3 (2026-11-20 12:00, new model). The model had marked it as no longer needed. [dropped §12§] stands in its place, or nothing if the whole call is old.`,
			`The summary "Tabs" of the messages 1-9 stands for it now, since request 5.`,
			"To read it: magicctx-host history expand s 7 --harness pi",
		}},
		{"dropped", dropped, []string{"To bring it back: /ctx-menu taken keep 12 in its session, or ask the model to read message 7 with ctx_expand."}},
		{"pinned", pinned, []string{"A summary covers this message, but its words stay in the prompt."}},
		{"still there", Forgotten{Found: f.Found, IsKnown: true}, []string{"magicctx has not removed it. The model sees it while the session is open, unless it was taken back or the harness has compacted it."}},
		{"never sent", Forgotten{Found: f.Found}, []string{"magicctx has never sent this message: it did not work in this session, or the session has made no request since."}},
	} {
		var b bytes.Buffer
		if err := PrintForgotten(&b, c.f, "magicctx-host", Page{Width: 200, Now: at}); err != nil {
			t.Fatal(err)
		}
		for _, line := range c.want {
			if !strings.Contains(b.String(), "\n"+line+"\n") {
				t.Errorf("%s: no line %q in\n%s", c.about, line, b.String())
			}
		}
		if isThere := c.about == "still there" || c.about == "pinned"; isThere == strings.Contains(b.String(), "To bring it back") {
			t.Errorf("%s: \"To bring it back\" in\n%s", c.about, b.String())
		}
	}
}
