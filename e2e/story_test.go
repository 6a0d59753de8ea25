package e2e

import (
	"bytes"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/script"
	"github.com/magicctx/magicctx-host/internal/promptcache"
)

// Most tests play this session. In three turns, a model reads, searches and edits files, and asks for two drops. The
// pressure reaches the execute threshold (65 %) at known steps.
type story struct {
	turns []script.Turn
	// first contains the index of each turn's first step. Steps are counted over the session.
	first []int
}

// In turn i, the model asks for drops[i]. The first request of turn i+1 must apply the drop.
type drop struct {
	step int    // the step, counted over the whole session
	arg  string // the argument that the model writes
	// placeholders are tags that become placeholders: texts, and calls among the newest 20.
	placeholders []int
	// shell is the tag of a text that is its message's only content. For some providers, the whole message is left out
	// when the text is dropped.
	shell int
	// gone is a call that is removed without a placeholder. goneTag is its tag.
	gone    string
	goneTag int
}

// The tags of the second drop first appear in the second turn, so the first bust cannot drop them. When the second drop
// is applied, the newest 20 units are protected, and these tags are older.
var drops = []drop{
	{step: 14, arg: "3-5", placeholders: []int{3, 4, 5}},
	{step: 28, arg: "28,§29§", shell: 28, gone: "toolu_00019", goneTag: 29},
}

// percentAt is the pressure that the provider reports for a step. At the end of the first two turns, it is between the
// execute threshold and the force level, so the bust waits for the end of the turn. From the next turn on, it is low,
// as after a large drop. The real drop is small.
func (s *story) percentAt(step int) int {
	for _, next := range s.first[1:] {
		if step >= next-4 && step < next {
			return 70
		}
	}
	return 20
}

func newStory(project string, files map[string]string, tools script.Tools) *story {
	args := map[int]string{}
	for _, d := range drops {
		args[d.step] = d.arg
	}
	s := &story{turns: script.Write(script.Options{
		Project: project, Files: files, Steps: []int{18, 24, 9}, Seed: 7, Drops: args, Tools: tools,
	})}
	step := 0
	for _, turn := range s.turns {
		s.first = append(s.first, step)
		step += len(turn.Steps)
	}
	for i, turn := range s.turns {
		for j := range turn.Steps {
			prompt := opencodetest.DefaultLimits.Context * s.percentAt(s.first[i]+j) / 100
			turn.Steps[j].Usage = &promptcache.Tokens{Fresh: 100, Read: prompt - 100}
		}
	}
	return s
}

func (s *story) steps() (all []mockllm.Step) {
	for _, t := range s.turns {
		all = append(all, t.Steps...)
	}
	return all
}

func (w *world) tell(oc agent.Agent, session string, s *story) {
	w.t.Helper()
	for i, turn := range s.turns {
		if err := oc.Send(w.ctx, session, opencodetest.Prompt{Text: turn.Prompt}); err != nil {
			w.t.Errorf("turn %d: %v", i+1, err)
			return
		}
	}
}

func storyFiles(t *testing.T) map[string]string {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/project.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	return files
}

// A message of the host would reach OpenCode at a random time, and two runs would not be comparable.
func checkNoMessage(t *testing.T, requests []*mockllm.Request) {
	t.Helper()
	for i, r := range requests {
		if bytes.Contains(r.Body, []byte("Oldest that can go")) {
			t.Fatalf("request %d holds the message that suggests dropping output: this story reads too much", i)
		}
	}
}
