package replay

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/mode"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/schema"
)

type anyway struct {
	trace, mode, profile string
	window               int
}

func (a anyway) String() string {
	return fmt.Sprintf("%s %s %s %dk", a.trace, a.mode, a.profile, a.window/1000)
}

var whole = flag.Bool("whole", false, "replay every trace in every mode for every profile (minutes)")

// The function `anyways` returns combinations of a trace, a mode and a profile. With -whole, it returns all
// combinations. Without it, it returns all for the short trace, two for the long trace, one for Pi's long trace, and
// every fourth for the other traces. The trace with a historian has only two combinations, in which the host asks
// questions that the trace does not contain. The windows are so small that pressure rises again and again.
func anyways() []anyway {
	all := []anyway{
		{"long.jsonl.gz", "primary", "anthropic", 32_000},
		{"long.jsonl.gz", "subagent-no-reduce", "openai", 64_000},
		{"pi-long.jsonl.gz", "primary", "anthropic", 32_000},
		{historyTrace, "primary", "anthropic", 28_000},
		{historyTrace, "primary-no-reduce", "openai", 36_000},
	}
	for i, profile := range render.Profiles {
		for j, name := range mode.Names() {
			window := []int{24_000, 32_000}[(i/2+j)%2]
			all = append(all, anyway{"short.jsonl.gz", name, profile.Name, window})
			if *whole || (i+j)%4 == 2 {
				all = append(all, anyway{edgeTrace, name, profile.Name, window})
			}
			if *whole {
				all = append(all, anyway{"long.jsonl.gz", name, profile.Name, 2 * window}, anyway{"pi-long.jsonl.gz", name, profile.Name, 2 * window})
			}
			if *whole || (i+j)%4 == 0 {
				all = append(all, anyway{"pi-" + edgeTrace, name, profile.Name, window}, anyway{"pi-short.jsonl.gz", name, profile.Name, window}, anyway{"opencode2.jsonl.gz", name, profile.Name, window})
			}
		}
	}
	return all
}

// In every mode, for every provider and window: each bust has a reason, and no provider would refuse a wire.
// Each pressure episode has at most one bust of the host, and space is freed when it is needed.
func TestEveryTraceInEveryModeForEveryProfile(t *testing.T) {
	all := anyways()
	if isRace {
		all = slices.DeleteFunc(all, func(a anyway) bool {
			return a.trace != "short.jsonl.gz" && (a.mode != "primary" || a.profile != "openai") || strings.HasSuffix(a.trace, "long.jsonl.gz")
		})
	}
	for _, a := range all {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			s := a.replay(t)
			if !s.IsClean() {
				t.Errorf("%d unexplained busts, %v, %v", s.UnexplainedBusts, s.InvariantViolations, s.ValidatorHits)
			}
			if last := s.Detail[len(s.Detail)-1]; last.WindowTokens != a.window {
				t.Errorf("replayed with a window of %d tokens", last.WindowTokens)
			}
			for _, finding := range pressureFindings(s.Detail) {
				t.Error(finding)
			}
			if own, above := bustsForPressure(s.Detail); own >= 8 && above*4 > own {
				t.Errorf("%d of %d busts leave the session above the high-water mark", above, own)
			}
		})
	}
}

func (a anyway) replay(t *testing.T) Summary {
	t.Helper()
	f, err := os.Open(filepath.Join(traces, a.trace))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	report, err := Run(t.Context(), f, Options{Mode: a.mode, Profile: a.profile, Window: a.window})
	if err != nil {
		t.Fatal(err)
	}
	return report.Summary()
}

// pressureFindings returns the host's busts for pressure that were not justified. An episode begins when the prompt
// reaches the high mark. It ends when a bust, or a removal by the harness, brings the prompt below this mark.
func pressureFindings(passes []*Pass) []string {
	var found []string
	last := make(map[string]*Pass) // by session, the last bust that did not end its episode
	for _, p := range passes {
		if p.Size < p.ThresholdTokens || !isForPressure(p) {
			if p.Size < p.ThresholdTokens || p.Verdict == schema.Hard {
				delete(last, p.Session)
			}
			continue
		}
		left := p.Size - p.Price.Removed
		isRelief := left <= max((p.Goal+p.ThresholdTokens)/2, p.ThresholdTokens-p.WindowTokens/10)
		justified := p.Price.PaysOff() || isRelief && p.Pressure*100 >= pipeline.ForcePercent || p.Pressure*100 >= pipeline.EmergencyPercent
		if !justified {
			found = append(found, fmt.Sprintf("pass %d at %.0f %% leaves %d tokens of %d, wants %d below %d, and its price is %+v", p.Pass, 100*p.Pressure, left, p.Size, p.Goal, p.ThresholdTokens, p.Price))
		}
		// If a bust leaves the prompt above the mark, there was nothing more to drop. Another bust is allowed only after
		// new messages.
		if before := last[p.Session]; before != nil && p.Messages <= before.Messages {
			found = append(found, fmt.Sprintf("pass %d busts again after pass %d, and nothing has come since", p.Pass, before.Pass))
		}
		delete(last, p.Session)
		if left >= p.ThresholdTokens {
			last[p.Session] = p
		}
	}
	return found
}

// bustsForPressure counts the host's own busts for pressure (`own`), and how many of them left the prompt above the
// high mark (`above`). After such a bust, the next one may follow within a few steps.
func bustsForPressure(passes []*Pass) (own, above int) {
	for _, p := range passes {
		if !isForPressure(p) {
			continue
		}
		own++
		if p.Size-p.Price.Removed >= p.ThresholdTokens {
			above++
		}
	}
	return own, above
}

func isForPressure(p *Pass) bool {
	return p.Bust && p.Verdict == schema.Soft &&
		slices.Contains([]string{string(pipeline.CausePressure), string(pipeline.CauseForce), string(pipeline.CauseOverflow)}, p.BustCause)
}

func TestEachProfileHasAPackage(t *testing.T) {
	for _, p := range render.Profiles {
		if got := render.ProfileOf("replayed-1", p.Package()).Name; got != p.Name {
			t.Errorf("%s is replayed as %q, which is %s", p.Name, p.Package(), got)
		}
	}
}
