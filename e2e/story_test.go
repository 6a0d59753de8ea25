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
	// `first` contains the index of the first step of each turn. Steps are counted over the whole session.
	first []int
}

// A drop is a call of ctx_reduce. The model makes the call drops[i] in turn i, and the first request of turn i+1 must no
// longer have the units.
type drop struct {
	step int    // the step, counted over the whole session
	arg  string // the argument that the model writes
	// `placeholders` are the tags that become placeholders. These are the texts, and those calls that are among the
	// newest 20 units.
	placeholders []int
	// `shell` is the tag of a text that is the only content of its message. When this text is dropped, some providers
	// do not get the message at all.
	shell int
	// `gone` is the id of a call that is removed without a placeholder, and goneTag is its tag.
	gone    string
	goneTag int
}

// The first bust cannot apply the second drop, because its tags appear only in the second turn. At the next bust, the
// units of the second drop are no longer among the newest 20, so they are not protected.
var drops = []drop{
	{step: 14, arg: "3-5", placeholders: []int{3, 4, 5}},
	{step: 28, arg: "28,§29§", shell: 28, gone: "toolu_00019", goneTag: 29},
}

// percentAt is the pressure that the provider reports for a step. In the last steps of the first two turns, the
// pressure is between the execute threshold and the force level. So a bust is due, but waits for the end of the turn.
// From the next turn on, the pressure is low, as if the drop had been large. In fact, the drop is small.
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

// checkNoMessage fails if the host has added a message to the session. Such a message would arrive at a random time,
// and the requests of two runs could not be compared.
func checkNoMessage(t *testing.T, requests []*mockllm.Request) {
	t.Helper()
	for i, r := range requests {
		if bytes.Contains(r.Body, []byte("Oldest that can go")) {
			t.Fatalf("request %d holds the message that suggests dropping output: this story reads too much", i)
		}
	}
}
