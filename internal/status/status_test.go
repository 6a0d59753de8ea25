package status

import (
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// The provider reports the size of the whole prompt, and counts tokens differently from the host. The host counts the
// parts of the prompt. In the status, these parts must still add up to the reported size.
func TestPartsOfThePromptAddUpToIt(t *testing.T) {
	for _, test := range []struct {
		name         string
		prompt, base int
		system       int
		thinking     int64
		wantBefore   int64 // the system prompt and the tool definitions
	}{
		{"not measured yet", 0, 0, 400, 0, 400},
		{"no gauge yet", 6000, 0, 400, 0, 6000 - 900 - 333 - 3000 - 650},
		{"the provider counts more", 7000, 1500, 400, 0, 1500},
		{"the provider counts less", 5000, 1500, 400, 0, 1500},
		{"the gauge is of another prompt", 90_000, 1500, 400, 0, 90_000 - 900 - 333 - 3000 - 650},
		{"less than the messages", 3000, 9000, 400, 0, 400},
		{"less than the system prompt", 300, 0, 400, 0, 300},
		{"much thinking", 15_000, 1500, 400, 8000, 1500}, // without the thinking, the counts would differ by more than a factor of two
	} {
		t.Run(test.name, func(t *testing.T) {
			r := store.SessionReport{SessionSummary: store.SessionSummary{DroppedTokens: 2150}}
			r.Tail = store.TailState{Text: 900, Files: 333, Inputs: 650, Results: 3000}
			r.PromptTokens, r.Gauge.Base, r.System.SystemTokens = test.prompt, test.base, test.system
			got := tokensBySource(r, test.thinking)
			if sum := got.System + got.ToolDefinitions + got.Text + got.Files + got.ToolInputs + got.ToolResults + got.Thinking; test.prompt > 0 && sum != int64(test.prompt) {
				t.Errorf("the parts add up to %d, want %d: %+v", sum, test.prompt, got)
			}
			if before := got.System + got.ToolDefinitions; before != test.wantBefore || got.Dropped != 2150 {
				t.Errorf("%d before the messages, want %d; dropped %d", before, test.wantBefore, got.Dropped)
			}
			if min(got.System, got.ToolDefinitions, got.Text, got.Files, got.ToolInputs, got.ToolResults, got.Thinking) < 0 {
				t.Errorf("a negative part: %+v", got)
			}
			if isThere := got.Thinking > 0; isThere != (test.thinking > 0) {
				t.Errorf("%d tokens of thinking", got.Thinking)
			}
		})
	}
}

// The newest pass decided against a bust that would have freed only 80 tokens. The bug (P9): the status still said that
// the next bust "frees about 23.2k".
func TestNextBustIsTheOneThatWasWeighed(t *testing.T) {
	st := schema.SessionStatus{ContextTokens: 40_000, Threshold: 0.65, Passes: 7, InputTokens: 27_000, Pressure: 27.0 / 40}
	facts := model.Facts{}
	report := func(priced *schema.PricedPass, isAsked bool) store.SessionReport {
		r := store.SessionReport{Priced: priced}
		r.Passes, r.ExplicitFlush = 7, isAsked
		return r
	}
	weighed := func(pass int, cause string) *schema.PricedPass {
		return &schema.PricedPass{Pass: pass, Cause: cause, Price: schema.BustPrice{Resent: 700, Removed: 80}}
	}
	for name, test := range map[string]struct {
		priced *schema.PricedPass
		waits  bool
	}{
		"the newest pass has weighed it":    {weighed(7, "not-worth-it"), true},
		"an older pass has weighed it":      {weighed(6, "not-worth-it"), false},
		"the newest pass has made a bust":   {weighed(7, "pressure"), false},
		"no pass has weighed a bust so far": {nil, false},
	} {
		n := New(Options{Clients: client.NewRegistry(nil)}).nextBust(st, report(test.priced, false), facts)
		if n.Waits != test.waits || test.waits != (n.Freed == 80 && n.Resent == 700) || n.IsAsked {
			t.Errorf("%s: %+v", name, n)
		}
	}
	if n := New(Options{Clients: client.NewRegistry(nil)}).nextBust(st, report(nil, true), facts); !n.IsAsked {
		t.Errorf("after /ctx-flush: %+v", n)
	}
}

// The names in a status come from harnesses and from databases of older hosts, and may be very long. A status has to
// fit into one frame, so the names are cut.
func TestNamesOfAStatusAreShort(t *testing.T) {
	for text, want := range map[string]string{"short": "short", strings.Repeat("ä", 3000): strings.Repeat("ä", 510) + "…"} {
		if got := format.Shorten(text, maxShownName); got != want {
			t.Errorf("%d bytes became %d: %.20q", len(text), len(got), got)
		}
	}
	st := schema.SessionStatus{Session: strings.Repeat("s", 8<<20), Directory: strings.Repeat("d", 8<<20), Model: schema.Model{Provider: strings.Repeat("p", 8<<20)}}
	clip(&st)
	if len(st.Session) > maxShownName || len(st.Directory) > maxShownPath || len(st.Model.Provider) > maxShownName {
		t.Errorf("%d, %d, %d bytes are left", len(st.Session), len(st.Directory), len(st.Model.Provider))
	}
}
