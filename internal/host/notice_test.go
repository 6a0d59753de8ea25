package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

// readyToDrop adds a turn in which the model asks to drop the first tool result. The next pass, the session's fourth,
// can then drop it. Reading and writing both cost $1000 for a million tokens.
func (h *harness) readyToDrop(size int) {
	h.t.Helper()
	h.limits.Price = schema.Price{Fresh: 1000, Write: 1000, Read: 1000}
	h.restart()
	h.beginTurn()
	h.drop("call-1", "2")
	h.tool("a3", "three", "stop", size)
	h.user("u3", "go on")
}

// Even without magicctx, the harness could not send a prompt that is larger than the window. So the notice must not
// count tokens beyond the window as saved.
func TestNoticePromisesNoTokensBeyondTheWindow(t *testing.T) {
	h := newHarness(t)
	h.config.Notices = []string{"busts"}
	h.readyToDrop(100_000) // the window is full
	h.flush()
	h.pass()
	h.settle()
	bust := h.journal()[3]
	room := 100_000 - (bust.SizeTokens - bust.Price.Removed)
	if !bust.Bust || room <= 0 || room >= bust.Price.Removed {
		t.Fatalf("the prompt would fit without the bust: %+v", bust)
	}
	if want := "saves about " + format.Dollars(float64(room)/1000); len(h.shown) != 1 || !strings.Contains(h.shown[0], want) {
		t.Errorf("shown %q, want %q", h.shown, want)
	}
}

func TestBustIsToldOnce(t *testing.T) {
	for _, notices := range [][]string{{"busts", "troubles"}, {"busts"}, {"troubles"}, {}} {
		t.Run(strings.Join(notices, " and "), func(t *testing.T) {
			h := newHarness(t)
			h.config.Notices = notices
			h.readyToDrop(70_000)
			h.pass()
			h.settle()
			bust := h.journal()[3]
			if !bust.Bust || bust.Price.Removed == 0 {
				t.Fatalf("no bust: %+v", bust)
			}
			var want []string
			if slices.Contains(notices, "busts") {
				// The removed tokens would have cost $1000 per million to read. The notice counts only the saving of this request:
				// the prompt grows by 50,000 tokens a request, so the next request may bust again.
				saved := float64(bust.Price.Removed) / 1000
				want = append(want, fmt.Sprintf("info: %s → %s: 1 result dropped. The cache was rebuilt because the prompt had reached the threshold. That saves about %s with this request. /ctx-menu taken brings dropped pieces back.",
					format.Tokens(bust.SizeTokens), format.Tokens(bust.SizeTokens-bust.Price.Removed), format.Dollars(saved)))
			}
			h.tool("a4", "four", "tool-calls", 70_000)
			h.pass()
			h.settle()
			if !slices.Equal(h.shown, want) {
				t.Errorf("shown %q, want %q", h.shown, want)
			}
		})
	}
}

// Messages that are summarised cannot come back. The notice and /ctx-flush once promised that /ctx-menu taken lists them,
// and brings them back.
func TestBustTellsOfSummaries(t *testing.T) {
	h := answering(t, good)
	h.config.Notices = []string{"busts"}
	h.restart()
	h.host.history.Summarises = true
	h.talkLong()
	end := h.compartments()[0].End
	if _, err := h.keepPieces(false, 2); err != nil {
		t.Fatal(err)
	}
	said := h.command("ctx-flush")
	h.pass()
	h.settle()
	if want := fmt.Sprintf(": messages 1–%d summarised, 1 piece that you kept gone with them. The cache was rebuilt because you asked for it.", end); len(h.shown) != 1 || !strings.Contains(h.shown[0], want) {
		t.Errorf("shown %q, want one notice with %q", h.shown, want)
	}
	for _, text := range append(h.shown, said) {
		if !strings.HasSuffix(text, ". /ctx-menu summaries shows the summaries and the messages.") || strings.Contains(text, "/ctx-menu taken") {
			t.Errorf("said %q", text)
		}
	}
}

// After a revert, messages come back in place of their summaries. The host then assumes a size that no request has
// had, so neither the notice nor the last bust may show this size. A bug once made both say "107k → 7.9k".
func TestReturnOfSummarisedMessagesHasNoSizeBefore(t *testing.T) {
	h, _ := summarised(t)
	h.config.Notices = []string{"busts"}
	h.restart()
	h.pass()
	all := slices.Clone(h.messages)
	h.revertFrom(25)
	h.pass()
	h.shown, h.messages = nil, all
	if m := h.pass(); m.Cause != "head-reverted" {
		t.Fatalf("%s pass (%s)", m.Verdict, m.Cause)
	}
	h.settle()
	if len(h.shown) != 1 || !strings.HasPrefix(h.shown[0], "info: You went back, and the prompt now has ") || strings.Contains(h.shown[0], "→") {
		t.Errorf("shown %q", h.shown)
	}
	if b := h.status().Sessions[0].LastBust; b == nil || b.Removed != 0 || b.Words != "you went back" {
		t.Errorf("the last bust is %+v", b)
	}
}

// When the historian has failed twice in a row, the user gets one notice.
func TestSecondFailureOfTheHistorianIsTold(t *testing.T) {
	bothHarnesses(t, func(t *testing.T, kind schema.Harness) {
		for _, notices := range [][]string{{"troubles"}, {"busts"}} {
			asked := 0
			h := answeringIn(t, kind, func(schema.AgentRunParams) (string, error) {
				asked++
				return "", errors.New("invalid x-api-key")
			})
			h.config.Notices = notices
			h.restart()
			h.host.history.Summarises = true
			h.talk(0, 20, 950, 40_000)
			h.user("now", "go on")
			failures, told := 0, 0
			for i := 0; failures < 5; i++ { // if every second failure caused a notice, it would come again here
				if i == 64 {
					t.Fatalf("the historian failed %d times, in %d questions", failures, asked)
				}
				h.pass()
				h.settle()
				if st := h.status().Sessions[0].History; st != nil {
					failures = st.Failures
				}
				if failures == 2 && told == 0 {
					told = len(h.shown)
				}
				h.tool(fmt.Sprintf("b%d", i), "x", "tool-calls", 41_000)
			}
			if notices[0] != "troubles" {
				if len(h.shown) > 0 {
					t.Errorf("with %q, the user was told %q", notices, h.shown)
				}
				continue
			}
			if told != 1 || len(h.shown) != 1 || !strings.Contains(h.shown[0], "failed twice in a row") || !strings.Contains(h.shown[0], "invalid x-api-key") {
				t.Errorf("shown %q", h.shown)
			}
		}
	})
}

func TestPromptThatDoesNotFitIsToldOnce(t *testing.T) {
	bothHarnesses(t, func(t *testing.T, kind schema.Harness) {
		h := answeringIn(t, kind, good)
		h.config.Notices = []string{"troubles"}
		h.restart()
		h.user("u1", strings.Repeat("word ", 30_000))
		h.pass()
		h.tool("a1", "x", "tool-calls", 1000)
		h.pass()
		h.settle()
		if len(h.shown) > 0 {
			t.Fatalf("a prompt of 30,000 tokens in a window of 64,000: %q", h.shown)
		}
		h.clock.Advance(time.Second)
		h.user("u2", strings.Repeat("word ", 70_000))
		h.pass()
		h.pass()
		h.settle()
		if len(h.shown) != 1 || !strings.Contains(h.shown[0], "Your prompt alone has about 70k tokens") {
			t.Errorf("told %q", h.shown)
		}
	})
}
