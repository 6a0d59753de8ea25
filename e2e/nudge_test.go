package e2e

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/schema"
)

// While a model reads big files, it gets reminders that it could drop some of them. Each reminder must be at the end of
// new content, and must never change.
func TestReaderIsToldWhatItCouldDrop(t *testing.T) {
	suite.OnlyWithAll(t, "Pi has this session")
	testReaderIsToldWhatItCouldDrop(t, schema.HarnessOpenCode)
}

func testReaderIsToldWhatItCouldDrop(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	const big = 5 // the number of files with 44 kB, which no read tool shortens
	files := map[string]string{}
	for i := range big {
		files[fmt.Sprintf("big%d.txt", i)] = strings.Repeat(fmt.Sprintf("line of file %d in which nothing is of use\n", i), 1_000)
	}
	w := newWorldOf(t, h, suite.Root(t), files)
	// The execute threshold is 50 % of 64,000 tokens, and each of the files fills about a third of it.
	w.configure(`{"execute_threshold_percentage": 50, "protected_tags": 1}`)
	options := w.withPlugin()
	options.Limits = opencodetest.Limits{Context: 64_000, Output: 8_192}
	oc := w.launch(options)
	session := w.session(oc)

	var steps []mockllm.Step
	for i := range big {
		tool, input := w.tools().Read(filepath.Join(w.project, fmt.Sprintf("big%d.txt", i)), 0, 0)
		step := mockllm.Call(fmt.Sprintf("toolu_big%d", i), tool, input)
		// The first steps report a third of the 64,000 tokens. At the fourth step, the prompt exceeds the execute
		// threshold mid-turn, but not the force level, so no pass busts.
		step.Usage = &promptcache.Tokens{Fresh: 100, Read: 19_900}
		if i >= 3 {
			step.Usage.Read = 29_900
		}
		steps = append(steps, step)
	}
	low := &promptcache.Tokens{Fresh: 100, Read: 19_900}
	for _, text := range []string{"Read.", "You are welcome."} {
		step := mockllm.Say(text)
		step.Usage = low
		steps = append(steps, step)
	}
	w.play(session, steps...)
	w.prompt(oc, session, "Read all files.")
	w.prompt(oc, session, "Thanks.")
	w.stop(oc)
	w.stopHost()

	requests, passes := w.requests(session), w.journal(session)
	if len(requests) != len(steps) {
		t.Fatalf("%d requests for %d steps: a message made OpenCode ask once more", len(requests), len(steps))
	}
	for _, r := range requests {
		checkRequest(t, r)
	}
	checkTags(t, requests)
	checkBusts(t, requests, passes)
	for i, p := range passes[1:] {
		if p.Bust {
			t.Errorf("pass %d is a bust (%s)", i+2, p.BustCause)
		}
	}

	last := notes(requests[len(requests)-1])
	if len(last) < 2 {
		t.Fatalf("notes %q, want two at least", last)
	}
	for _, r := range requests {
		seen := notes(r)
		for at, text := range last {
			if strings.Contains(string(r.Body), at) && seen[at] != text {
				t.Errorf("request %d: at %s stands %.200q, and in the last request %.200q", r.Seq, at, seen[at], text)
			}
		}
	}
}

// notes returns the notes in a request. The key of a note is the id of the call whose result contains the note, or the
// text before the note.
func notes(r *mockllm.Request) map[string]string {
	all := map[string]string{}
	for _, m := range r.Messages {
		for _, c := range m.Content {
			before, text, found := strings.Cut(c.Text, "<system-reminder>")
			if found && strings.Contains(text, "ctx_reduce") {
				all[cmp.Or(c.ID, strings.TrimSpace(before))] = text
			}
		}
	}
	return all
}
