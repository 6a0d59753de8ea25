package replay

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/schema"
)

const edgeTrace = "edge.jsonl.gz"

// In some scenes of the edge trace (recorded by e2e/record/edge.go), the host may bust for one of these reasons:
//   - a prompt that the provider refused for its length
//   - pressure once the turn is over, in a fork, and after OpenCode's compaction
//   - the force level within a turn
//   - a revert
//   - a switch to a model of another provider with other rules, and the switch back
//   - OpenCode's compaction
//
// In all other scenes, it must not bust: other errors, retries, aborts, an image, and a revert that the user takes
// back.
func TestEdgesBustForTheirReasonsOnly(t *testing.T) {
	s := replayOf(t, edgeTrace)
	var got []string
	for _, b := range s.Busts {
		got = append(got, string(b.Verdict)+" "+b.Cause)
	}
	want := []string{
		"soft overflow",
		"soft pressure",
		"steady head-reverted",
		"hard model-changed",
		"hard model-changed",
		"soft force",
		"soft pressure",
		"steady transcript-changed",
		"soft pressure",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("busts (-want +got):\n%s", diff)
	}
	if !s.IsClean() {
		t.Errorf("%d unexplained busts, %v, %v", s.UnexplainedBusts, s.InvariantViolations, s.ValidatorHits)
	}
}

// A pass for another model is hard, even if its wire continues the previous one, because the other model's provider has
// nothing cached.
func TestOtherModelIsHardBothWays(t *testing.T) {
	var models []string
	for _, p := range replayOf(t, edgeTrace).Detail {
		if p.Cause == "model-changed" {
			models = append(models, string(p.Verdict)+" "+p.Model)
		}
	}
	if diff := cmp.Diff([]string{"hard mockoai/gpt-mock", "hard mock/claude-mock-5-0"}, models); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A fork begins with the messages of its original, which the provider has cached. So the fork's first pass must be
// steady, and send the same prefix again. The original must not change.
func TestForksLeaveTheirOriginalAlone(t *testing.T) {
	firsts := map[string]int{}
	before := ""
	for _, p := range replayOf(t, edgeTrace).Detail {
		if _, known := firsts[p.Session]; !known {
			firsts[p.Session] = p.Pass
			want := schema.Steady
			if len(firsts) == 1 { // the first session is the original
				want = schema.Hard
			}
			if p.Verdict != want {
				t.Errorf("pass %d, the first of session %s, is %s %s", p.Pass, p.Session, p.Verdict, p.Cause)
			}
		} else if before != p.Session && (p.Bust && p.BustCause != "transcript-changed" || p.Edits != 0) {
			t.Errorf("pass %d, the first in session %s after a fork, is a bust (%s) with %d edits", p.Pass, p.Session, p.BustCause, p.Edits)
		}
		before = p.Session
	}
	if len(firsts) != 3 {
		t.Errorf("%d sessions, want one and its two forks", len(firsts))
	}
}

func TestEdgeTraceHoldsItsScenes(t *testing.T) {
	content := bytes.Join(plain(t, edgeTrace), nil)
	for _, scene := range []struct{ name, trace string }{
		{"a prompt that is too long", `"ContextOverflowError"`},
		{"an answer that breaks off", `"UnknownError"`},
		{"an abort", `"MessageAbortedError"`},
		{"an aborted tool", `User aborted the command`},
		{"a retry", `"type":"retry"`},
		{"an image", `"mime":"image/png"`},
		{"a revert", `"message.removed"`},
		{"a compaction", `"type":"compaction"`},
		{"signed thinking", `"signature":"c2lnbmF0dXJl`},
		{"a drop", `"tool":"ctx_reduce"`},
		{"another model", `"gpt-mock"`},
	} {
		if !bytes.Contains(content, []byte(scene.trace)) {
			t.Errorf("%s: no %s in the trace", scene.name, scene.trace)
		}
	}
}

var replayed = map[string]Summary{}

func replayOf(t *testing.T, name string) Summary {
	t.Helper()
	if s, ok := replayed[name]; ok {
		return s
	}
	f, err := os.Open(filepath.Join(traces, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// In these scenes, the pressure comes only from the usage that the scripted provider reports. The prompts
	// themselves stay far below the window.
	report, err := Run(t.Context(), f, Options{AsRecorded: true})
	if err != nil {
		t.Fatal(err)
	}
	replayed[name] = report.Summary()
	return replayed[name]
}

// If a bust would cost more than it saves, the pass waits. The report must then show the cause "not-worth-it" and the
// prices that led to it.
func TestABustWaitsBecauseOfThePrice(t *testing.T) {
	waits := 0
	for _, p := range (anyway{edgeTrace, "primary", "anthropic", 32_000}).replay(t).Detail {
		if p.Cause == "not-worth-it" {
			if p.Waits() {
				waits++
			}
			if p.Price.Removed == 0 || p.Price.BreakEven <= float64(p.Price.Forecast) {
				t.Errorf("pass %d waits although its bust pays off: %+v", p.Pass, p.Price)
			}
		}
	}
	if waits == 0 {
		t.Error("no pass waits")
	}
}
