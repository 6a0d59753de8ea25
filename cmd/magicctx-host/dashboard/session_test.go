package dashboard

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/models"
	"github.com/magicctx/magicctx-host/store/storetest"
	"github.com/magicctx/magicctx-host/store/work"
)

const ofSession = "?harness=opencode&session="

// storeSession stores a session with three requests. The second request drops a call, and the third one replaces two
// messages with a summary.
func storeSession(t *testing.T, dir string) *store.Store {
	t.Helper()
	s := storetest.Open(t, dir)
	key := storetest.Key
	for n := 1; n <= 3; n++ {
		c := storetest.Commit(n)
		switch n {
		case 2:
			c.Units[0].Kind, c.Units[0].Tool, c.Units[0].Tokens, c.Units[0].InputTokens = "tool", "read", 3000, 40
			c.Units[0].UnitKey = "msg_2\x00p:prt_2"
			c.Pass.Verdict, c.Pass.Bust, c.Pass.Cause, c.Pass.BustCause = "soft", true, "pressure", "pressure"
			c.Pass.SizeTokens, c.Pass.Price = 61_000, schema.BustPrice{Resent: 12_900, Removed: 29_000, BreakEven: 3, Forecast: 41}
			c.Edits = []store.EditRow{{Tag: 2, Kind: "drop", Pass: 2, Payload: "tool reclaim"}}
			c.Removals = []store.RemovalRow{{Rule: "tool reclaim", Tokens: 3040}}
		case 3:
			c.Pass.Verdict, c.Pass.Bust, c.Pass.Cause, c.Pass.BustCause = "hard", true, "idle", "idle"
			c.Removals = []store.RemovalRow{{Rule: store.RuleSummaries, Tokens: 2400, Through: 2}}
		}
		c.Session.Gauge.Base = 2000
		c.Pass.WireTokens, c.Pass.BaselineTokens, c.Pass.DeltaTokens, c.Pass.MemoryTokens, c.Pass.ReasoningTokens = 15_000, 4000, 1000, 2000, 1000
		storetest.Must(t, s.CommitPass(t.Context(), c))
	}
	storetest.Must(t, s.SaveUsage(t.Context(), key, 2, 0, 20_000, 12_000))
	storetest.Must(t, s.Models.SaveLimits(t.Context(), models.LimitsRow{Provider: "anthropic", Model: "claude", PriceFresh: 3, PriceWrite: 3.75, PriceRead: 0.3, At: 1}))
	_, err := s.SaveTitle(t.Context(), key, "Zebras \u202e<b>")
	storetest.Must(t, err)
	_, err = s.Leases.Acquire(t.Context(), store.HistorianOf(key), "test")
	storetest.Must(t, err)
	storetest.Must(t, s.History.Publish(t.Context(), store.Publication{
		Key: key, Holder: "test", After: store.HistoryEnd{Ordinal: 1}, Run: work.RunRow{Kind: "incremental"},
		Compartments: []chronicle.Compartment{{
			Start: 1, End: 2, Keys: []string{"msg_1", "msg_2"}, Title: "Night\x1b[2J", Tiers: [4]string{"The zebra sleeps.\n", "It sleeps."},
			Importance: 50, Fidelity: 0.9, MadeBy: "model", RawTokens: 2400,
		}},
	}))
	return s
}

func TestASessionSaysWhatItHasPutAway(t *testing.T) {
	s := serve(t).enter()
	storeSession(t, s.dir)
	status, body := s.api("GET", "/api/session"+ofSession+storetest.Key.Session, "")
	var got sessionPage
	if err := json.Unmarshal([]byte(body), &got); status != http.StatusOK || err != nil {
		t.Fatalf("%d %s", status, body)
	}
	storetest.Same(t, "title", got.Title, "Zebras <b>")
	if p := got.Panel; p == nil || p.Size != "90k of 200k tokens (45%)" || p.Bust != 130_000 || len(p.Facts) == 0 {
		t.Errorf("the panel is %+v", p)
	}
	// If no host is running, the page learns from the journal how full the prompt is.
	row := store.SessionSummary{SessionRow: store.SessionRow{PromptTokens: 32_000, LimitTokens: 64_000, Gauge: store.GaugeState{Base: 2000}}}
	journal := []store.PassRow{{WireTokens: 15_000, BaselineTokens: 5000, Usage: &store.Usage{CacheRead: 32_000}}, {}}
	if p := storedPanel(row, journal); p.Size != "32k of 64k tokens (50%)" || len(p.Parts) != 3 || len(p.Facts) != 0 {
		t.Errorf("the stored panel is %+v", p)
	}
	// The bill is for 20,000 tokens at $0.30 per million, and 12,000 tokens at $3.75 per million. The chart leaves out
	// request 1, because it has no usage and is no bust.
	if c := got.Timeline; c == nil || c.Requests != 2 || c.Busts != 2 || c.Bill != "$0.051" || c.HitRate != "62.5%" || len(c.Markers) != 2 || len(c.Cache.Curves) != 3 || len(c.Costs.Curves) != 1 || got.Model != "anthropic/claude" {
		t.Errorf("the chart is %+v", c)
	}
	// Request 3 has no usage, so the chart uses the host's own token counts.
	parts := ""
	for _, part := range got.Timeline.Parts {
		parts += part.Label + " " + part.Value + ", "
	}
	storetest.Same(t, "parts", parts, "system prompt and tool definitions 2k, summaries 3k, memories 2k, conversation 9k, thinking 1k, ")
	if sources := sourcesOf(store.PassRow{WireTokens: 15_000, BaselineTokens: 5000, MemoryTokens: 2000, ToolTokens: 4000, Usage: &store.Usage{CacheRead: 32_000}}, 2000); sources != (replay.Sources{System: 2000, Head: 6000, Memories: 4000, Results: 8000, Text: 12_000}) {
		t.Errorf("the parts of a prompt of 32k are %+v", sources)
	}
	for i := range got.Summaries {
		got.Summaries[i].CreatedAt = 0
	}
	storetest.Same(t, "summaries", got.Summaries, []chronicle.Compartment{{
		Start: 1, End: 2, Title: "Night", Tiers: [4]string{"The zebra sleeps.", "It sleeps."}, Importance: 50, Fidelity: 0.9, MadeBy: "model", RawTokens: 2400,
	}})
	for i := range got.Busts {
		for j := range got.Busts[i].Pieces {
			got.Busts[i].Pieces[j].size = 0
		}
	}
	storetest.Same(t, "busts", fmt.Sprintf("%+v", got.Busts), fmt.Sprintf("%+v", []bust{
		{Request: 3, At: storetest.Now + 3, Cause: "after a pause", MoreTokens: "0", Pieces: []piece{}, Facts: []fact{
			{"why", "after a pause longer than the cache lives"},
			{"messages", `1-2, 2.4k tokens. Now summarised in "Night" (1-2).`},
		}},
		{Request: 2, At: storetest.Now + 2, Cause: "getting full", Size: "61k → 32k tokens", MoreTokens: "0", Facts: []fact{
			{"why", "because the prompt had reached the threshold"},
			{"price", "re-sends 12.9k, removes 29k, pays off in 3 requests, about 41 to come"},
			{"provider", "read 20k of 32k tokens from its cache; the prompt cost about $0.05"},
			{"pieces", "tokens: old tool output 3k"},
		}, Pieces: []piece{{Tag: 2, Name: "§2§ read src/zebra.go", Tokens: "3k", Rule: "old tool output", Now: "[dropped §2§] stands in its place, or nothing if the whole call is old."}}},
	}))
	if _, body := s.api("GET", "/api/sessions", ""); !strings.Contains(body, `"title":"Zebras <b>"`) {
		t.Errorf("the sessions are %s", body)
	}
	if status, body := s.api("GET", "/api/session"+ofSession+"ses_unknown", ""); status != http.StatusNotFound || !strings.Contains(body, "ses_unknown") {
		t.Errorf("%d %s", status, body)
	}
}

func TestPiecesAreKeptAndLetGo(t *testing.T) {
	s := serve(t).enter()
	storeSession(t, s.dir)
	for _, step := range []struct {
		wish   string
		status int
		want   string
	}{
		{`{"harness":"opencode","session":"` + storetest.Key.Session + `","tags":[2]}`, http.StatusOK, `[{"tag":2,"name":"§2§ read src/zebra.go","tokens":"3k","state":"it comes back when`},
		{`{"harness":"opencode","session":"` + storetest.Key.Session + `","tags":[2],"letGo":true}`, http.StatusOK, `[]`},
		{`{"harness":"opencode","session":"` + storetest.Key.Session + `","tags":[99]}`, http.StatusUnprocessableEntity, "no piece"},
		{`{`, http.StatusUnprocessableEntity, "read the number"},
	} {
		if status, body := s.api("POST", "/api/keep", step.wish); status != step.status || !strings.HasPrefix(body, step.want) {
			t.Errorf("%s: %d %s, want %d and %q", step.wish, status, body, step.status, step.want)
		}
	}
}

func TestMessagesAreShownWordForWord(t *testing.T) {
	s := serve(t).enter()
	for _, c := range []struct {
		of, want string
		status   int
	}{
		{"ses_1&first=3&last=4", `ses_1 4 é`, http.StatusOK},
		{"ses_1&first=1&last=1", `"isCut":false`, http.StatusOK},
		{"ses_1&first=1&last=100000", `"isCut":true`, http.StatusOK},
		{"ses_1&first=2&last=1", "first and a last", http.StatusUnprocessableEntity},
		{"ses_1&first=0&last=1", "first and a last", http.StatusUnprocessableEntity},
		{"ses_1", "first and a last", http.StatusUnprocessableEntity},
	} {
		if status, body := s.api("GET", "/api/messages"+ofSession+c.of, ""); status != c.status || !strings.Contains(body, c.want) || len(body) > 2*maxMessages {
			t.Errorf("%s: %d %.200s", c.of, status, body)
		}
	}
}

func TestABustIsShownPieceByPiece(t *testing.T) {
	s := serve(t).enter()
	storeSession(t, s.dir)
	for _, c := range []struct {
		query, want string
		status      int
	}{
		{"ses_1&request=2", `"name":"§2§ read src/zebra.go","why":"Old tool output, the oldest first, until there was enough room."`, http.StatusOK},
		{"ses_1&request=2", `"after":{"text":"","note":"not sent"}`, http.StatusOK},
		{"ses_1&request=3", `"name":"messages 1-2"`, http.StatusOK},
		{"ses_1&request=3", "The zebra sleeps.", http.StatusOK},
		{"ses_1&request=1", "took nothing away", http.StatusOK},
		{"ses_1&request=0", "a request has a number", http.StatusUnprocessableEntity},
		{"ses_unknown&request=1", "knows no session", http.StatusNotFound},
		{"ses_1&request=4", "has no request 4: its newest is request 3", http.StatusNotFound},
	} {
		if status, body := s.api("GET", "/api/diff"+ofSession+c.query, ""); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %.600s", c.query, status, body)
		}
	}
}

// The bug: after the user had gone back in a session, the page showed a range of messages whose start was after its
// end.
func TestRangesAfterASessionWentBack(t *testing.T) {
	removals := map[int][]store.RemovalRow{}
	for pass, through := range map[int]int{10: 80, 30: 60, 40: 75} {
		removals[pass] = []store.RemovalRow{{Rule: store.RuleSummaries, Tokens: 100, Through: through}}
	}
	for pass, want := range map[int]string{10: "1-80, ", 30: "up to 60, ", 40: "61-75, "} {
		b := newBust(pass, store.PassRow{}, models.LimitsRow{}, nil, removals, nil)
		if len(b.Facts) != 1 || !strings.HasPrefix(b.Facts[0].Text, want) {
			t.Errorf("request %d: %+v, want %s", pass, b.Facts, want)
		}
	}
}

// The bug: after the user had gone back in a session, the page showed the size "139k → 19.1k". But 139k was the size of
// all messages without any summaries, and such a prompt was never sent.
func TestGoingBackShowsNoImpossibleSize(t *testing.T) {
	row := store.PassRow{Pass: 2, Bust: true, Cause: "head-reverted", BustCause: "transcript-changed", SizeTokens: 139_000, Price: schema.BustPrice{Resent: 17_000, Removed: 119_900}}
	if b := newBust(2, row, models.LimitsRow{}, nil, nil, nil); b.Size != "19.1k tokens" || strings.Contains(fmt.Sprint(b.Facts), "removes") {
		t.Errorf("the bust is %+v", b)
	}
}
