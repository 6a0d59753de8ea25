package replay

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/judge"
	"github.com/magicctx/magicctx-host/internal/mode"
	"github.com/magicctx/magicctx-host/pipeline/render"
)

var judgeWhole = flag.Bool("judge", false, "let the judge see every committed trace in every mode and profile (minutes)")

// Passes that change nothing are alike, so the judge need not check all of them. With the value 5, it checks every
// fifth one.
var judgedEvery = map[string]int{
	"short.jsonl.gz": 1, edgeTrace: 5, "long.jsonl.gz": 25, historyTrace: 25,
	"pi-short.jsonl.gz": 1, "pi-" + edgeTrace: 5, "pi-long.jsonl.gz": 25, "opencode2.jsonl.gz": 5,
}

// The judge checks each pass that changes something, the last pass of each session, and a sample of the others. If the
// raw array obeys a rule of the provider, the wire must obey it, too.
func TestJudgeTraces(t *testing.T) {
	j := judge.Needs(t)
	all := anyways()
	switch {
	case *judgeWhole:
		was := *whole
		*whole = true
		all = anyways()
		*whole = was
	default: // the short traces use all profiles; OpenCode 1's trace is checked for each profile, in one mode
		modes := mode.Names()
		all = slices.DeleteFunc(all, func(a anyway) bool {
			i := slices.IndexFunc(render.Profiles, func(p render.Profile) bool { return p.Name == a.profile })
			isOne := a.trace == "short.jsonl.gz"
			return !isOne && a.trace != "pi-short.jsonl.gz" && a.trace != "opencode2.jsonl.gz" || isOne && a.mode != modes[i%len(modes)]
		})
	}
	for _, a := range all {
		a.judge(t, j)
	}
	j.Check(t)
}

func (a anyway) judge(t *testing.T, j *judge.Judge) {
	t.Helper()
	f, err := os.Open(filepath.Join(traces, a.trace))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	harness := ""
	switch {
	case strings.HasPrefix(a.trace, "pi-"):
		harness = "pi"
	case a.trace == "opencode2.jsonl.gz":
		harness = "opencode2"
	}
	last := make(map[string]func()) // the newest pass of a session that the judge has not seen yet
	watch := func(s Sent) {
		send := func() {
			raw, wire, err := s.Arrays()
			if err == nil {
				err = j.Send(judge.Case{Name: fmt.Sprintf("%s, pass %d", a, s.Pass.Pass), Profile: s.Profile, Harness: harness, Binds: s.Binds, Raw: raw, Wire: wire})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if s.Bust || s.Edits > 0 || s.Pass.Pass%judgedEvery[a.trace] == 0 {
			send()
			delete(last, s.Session)
			return
		}
		last[s.Session] = send
	}
	if _, err := Run(t.Context(), f, Options{Mode: a.mode, Profile: a.profile, Window: a.window, Watch: watch}); err != nil {
		t.Fatal(err)
	}
	for _, send := range last {
		send()
	}
}
