package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

// tinyWindow is the window of a small local model, in tokens. Three files of 50 KB are too large for it.
const tinyWindow = 32_000

func TestOutputsLargerThanTheWindow(t *testing.T) {
	suite.OnlyWithAll(t, "Pi has this session")
	testOutputsLargerThanTheWindow(t, schema.HarnessOpenCode)
}

// The bug: a model with a small window read three files at once, each half as large as the window. The provider then
// refused the next prompt and every later prompt.
func testOutputsLargerThanTheWindow(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	files := map[string]string{}
	for _, name := range []string{"one.txt", "two.txt", "three.txt"} {
		files[name] = strings.Repeat(name+" holds a line of text that is like the others.\n", 980) // each file has just under 50 KB
	}
	w := newWorldOf(t, h, suite.Root(t), files)
	w.configure(`{"historian": {"disable": false}}`)
	o := w.withPlugin()
	o.Limits = opencodetest.Limits{Context: tinyWindow, Output: 4_000}
	a := w.launch(o)
	session := w.session(a)
	reads := mockllm.Step{}
	for _, name := range []string{"one.txt", "two.txt", "three.txt"} {
		tool, input := w.tools().Read(filepath.Join(w.project, name), 0, 0)
		reads.Blocks = append(reads.Blocks, mockllm.Tool("toolu_"+strings.TrimSuffix(name, ".txt"), tool, input))
	}
	answers := []mockllm.Step{reads, mockllm.Say("The files are large."), mockllm.Say("I can."), mockllm.Say("You are welcome.")}
	answered := 0
	w.mock.AddRule(mockllm.Rule{
		Name: session, Match: func(r *mockllm.Request) bool { return r.Session() == session && len(r.Tools) > 0 },
		Answer: func(r *mockllm.Request) mockllm.Step {
			if n := r.Tokens(); n > tinyWindow {
				return refusal(r.Dialect, n, tinyWindow)
			}
			answered++
			return answers[min(answered, len(answers))-1]
		},
	})
	prompts := []string{"Compare the three files.", "Can you go on?", "Thank you."}
	for _, p := range prompts {
		w.prompt(a, session, p)
	}
	w.stop(a)
	w.stopHost()
	requests := w.requests(session)
	if len(requests) != len(answers) {
		t.Errorf("%d requests, want %d", len(requests), len(answers))
	}
	withheld := 0
	for i, r := range requests {
		if n := r.Tokens(); n > tinyWindow {
			t.Errorf("request %d has %d tokens", i, n)
		}
		withheld = max(withheld, strings.Count(string(r.Body), "read it in parts"))
		if newest := prompts[max(0, i-1)]; !strings.Contains(string(r.Body), newest) {
			t.Errorf("request %d lacks %q", i, newest)
		}
		if i == 1 && !strings.Contains(string(r.Body), ".txt holds a line") {
			t.Errorf("request %d has none of the files, although one fits", i)
		}
	}
	if withheld == 0 {
		t.Error("no output was left out with the advice to read it in parts")
	}
}
