package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/judge"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/replay"
)

// The judge must convert a recorded session to the same messages that OpenCode has sent.
func TestJudgeConvertsAsOpenCode(t *testing.T) {
	suite.Needs(t)
	t.Parallel()
	j := judge.Needs(t)
	w := newWorld(t, suite.Root(t), map[string]string{"notes.txt": "the answer is 41\n"})
	w.mock.AddRule(mockllm.Rule{Name: "title", Match: mockllm.Model("claude-mini-5-0"), Answer: mockllm.Always(mockllm.Say("A question"))})
	options := w.withPlugin()
	traces := filepath.Join(w.root, "trace")
	options.Env = append(options.Env, "MAGICCTX_TRACE="+traces)
	oc := w.start(options)

	dialects := make(map[string]string) // the dialect of each session
	read := func(id, path string) mockllm.Block { return mockllm.Tool(id, "read", map[string]any{"filePath": path}) }
	for dialect, model := range map[string]string{"anthropic": opencodetest.ClaudeModel, "openai-compatible": opencodetest.GPTModel} {
		s := w.session(oc)
		dialects[s] = dialect
		calls := []mockllm.Block{mockllm.Text("I look. "), read("call_1.a", filepath.Join(w.project, "notes.txt")), read("call_2", "/nowhere")}
		if dialect == "anthropic" {
			calls = append([]mockllm.Block{mockllm.Thinking("where is it", "sig1"), mockllm.RedactedThinking("secret")}, calls...)
		}
		w.play(s, mockllm.Step{Blocks: calls}, mockllm.Say("41"), w.readNotes("call_3"), mockllm.Say("still 41"), mockllm.Say("bye"))
		for _, text := range []string{"what is the answer?", "and now?", "thank you"} {
			if _, err := oc.Prompt(w.ctx, s, opencodetest.Prompt{Text: text, Model: model}); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.stop(oc)
	w.stopHost()

	if passes := w.judgeTraces(j, traces, "", dialects); passes < 10 {
		t.Errorf("only %d passes were compared", passes)
	}
}

func (w *world) judgeTraces(j *judge.Judge, dir, harness string, dialects map[string]string) (passes int) {
	w.t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(paths) == 0 {
		w.t.Fatalf("no trace: %v", err)
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			w.t.Fatal(err)
		}
		defer f.Close()
		err = replay.Recorded(f, func(session string, _, wire []json.Value) error {
			var bodies []json.Value
			for _, r := range w.requests(session) {
				bodies = append(bodies, r.Body)
			}
			passes++
			return j.Send(judge.Case{
				Name: fmt.Sprintf("pass %d of %s", passes, session), Harness: harness, Wire: wire, Bodies: bodies, Converter: dialects[session],
			})
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	j.Check(w.t)
	return passes
}
