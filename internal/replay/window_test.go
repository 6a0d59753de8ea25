package replay

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/promptcache"
)

func sized(own, raw, window int) *Pass {
	return &Pass{Tokens: promptcache.Tokens{Read: own}, Raw: promptcache.Tokens{Read: raw}, WindowTokens: window}
}

func TestPromptsAboveTheWindowAreFindings(t *testing.T) {
	s := (&Report{unseen: 100, Passes: numbered(sized(800, 900, 1000), sized(900, 1000, 1000), sized(901, 1001, 1000), sized(50, 2000, 1000))}).Summary()
	if diff := cmp.Diff([]Overflow{{Pass: 3, Prompt: 1001, Window: 1000}}, s.Overflows); diff != "" {
		t.Errorf("overflows (-want +got):\n%s", diff)
	}
	if want := (Prompts{Window: 1000, Largest: 901, RawLargest: 2000, Unseen: 100, RawRefusedAt: 3}); s.Prompts != want {
		t.Errorf("prompts are %+v, want %+v", s.Prompts, want)
	}
	if s.IsClean() || s.Findings() != 1 {
		t.Errorf("%d findings, want 1", s.Findings())
	}
}

// The replay may compute that a prompt was larger than the window. If the provider accepted this prompt, it fitted, and
// is no overflow.
func TestAnAcceptedPromptIsNoOverflow(t *testing.T) {
	accepted, own := sized(1100, 1100, 1000), sized(1100, 1100, 1000)
	accepted.isAccepted = true
	s := (&Report{Passes: numbered(accepted, own)}).Summary()
	if diff := cmp.Diff([]Overflow{{Pass: 2, Prompt: 1100, Window: 1000}}, s.Overflows); diff != "" {
		t.Errorf("overflows (-want +got):\n%s", diff)
	}
}

// The provider may count fewer tokens than the replay. So it may accept a prompt that the replay takes for too large.
// If it accepted such a prompt with magicctx, it would also have accepted a prompt of this size without magicctx.
func TestUnmodifiedPromptIsNotRefusedWhereOursIsAccepted(t *testing.T) {
	ours := sized(1100, 1100, 1000)
	ours.isAccepted = true
	s := (&Report{Passes: numbered(ours, sized(600, 1100, 1000), sized(600, 1101, 1000))}).Summary()
	if s.Prompts.RawRefusedAt != 3 {
		t.Errorf("the unmodified session is refused at pass %d, want 3", s.Prompts.RawRefusedAt)
	}
}

func TestUnknownWindowIsNotExceeded(t *testing.T) {
	s := (&Report{Passes: numbered(sized(9000, 9000, 0), sized(9000, 9000, 10_000))}).Summary()
	if !s.IsClean() || s.Prompts.Window != 0 || s.Prompts.RawRefusedAt != 0 {
		t.Errorf("%+v, %+v", s.Prompts, s.Overflows)
	}
}

func numbered(passes ...*Pass) []*Pass {
	for i, p := range passes {
		p.Pass, p.Session = i+1, "s"
	}
	return passes
}

// The trace was recorded with older rules, which made smaller prompts than today's rules. A replay that relies on the
// recorded usage frees too little, exceeds the window, and must say so. A replay that counts its own prompts stays
// inside the window.
func TestShowcaseStaysInItsWindow(t *testing.T) {
	for asRecorded, wantClean := range map[bool]bool{false: true, true: false} {
		f, err := os.Open(filepath.Join(traces, "long.jsonl.gz"))
		if err != nil {
			t.Fatal(err)
		}
		report, err := Run(t.Context(), f, Options{AsRecorded: asRecorded})
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		s := report.Summary()
		if s.IsClean() != wantClean || (len(s.Overflows) == 0) != wantClean {
			t.Errorf("as recorded %v: %d findings, overflows %v", asRecorded, s.Findings(), s.Overflows)
		}
		// The catalogue in the trace gives a window of 64,000 tokens. The replay does not see the definitions of
		// OpenCode's tools, which take some thousand tokens.
		if s.Prompts.Window != 64_000 || s.Prompts.Unseen < 1000 || s.Prompts.Unseen > 20_000 {
			t.Errorf("%+v", s.Prompts)
		}
		deviation := 0.02 // the simulated provider counts tokens as the host does
		if asRecorded {
			deviation = 0.3
		}
		checkOutcomes(t, s, deviation)
	}
}

// checkOutcomes adds up the gains and costs of all busts. The sum must be about the difference between the bill and the
// bill of the unmodified session, because besides busts only tags and reminders change the bill. deviation bounds how
// far the provider's count of the removed tokens may be from the host's count.
func checkOutcomes(t *testing.T, s Summary, deviation float64) {
	t.Helper()
	net := 0.0
	for _, b := range s.Busts {
		net += b.Outcome.Gain - b.Outcome.Cost
		p := s.Detail[b.Pass-1]
		if len(p.Taken) != p.Edits {
			t.Errorf("pass %d has added %d edits and tells of %d", b.Pass, p.Edits, len(p.Taken))
		}
		told := 0
		for _, u := range p.Taken {
			told += u.Tokens
			if u.Rule == "" || u.Unit == "" || u.Edit == "" || u.Unit == "tool" && u.Tool == "" || u.Label == "" {
				t.Errorf("pass %d does not say what went: %+v", b.Pass, u)
			}
		}
		// The price counts in the provider's tokens, but the units count in the host's.
		if ratio := float64(p.Price.Removed) / float64(told); math.Abs(ratio-1) > deviation {
			t.Errorf("the units of pass %d have %d tokens, and its price says %d", b.Pass, told, p.Price.Removed)
		}
	}
	if saved := s.RawBill - s.Bill; net < 0.95*saved || net > 1.05*saved {
		t.Errorf("the busts have saved $%.2f, and the bills differ by $%.2f", net, saved)
	}
}
