package main

import (
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
)

// Request 1 has no thinking block, request 2 has a valid block, and request 3 has this block and an invalid block.
func TestThinkingIsCounted(t *testing.T) {
	p := newProvider(byBinding, testStory(), scenes[0].limits.Context)
	ask := func(turn int, found mockllm.ThinkingCheck, texts ...string) mockllm.Step {
		r := request(turn)
		for _, s := range texts {
			r.Blocks = append(r.Blocks, mockllm.PromptBlock{JSON: text(s)})
		}
		_, r.Model, _ = strings.Cut(byBinding.model, "/")
		r.Thinking = found
		return p.answer(r)
	}
	valid, invalid := mockllm.BoundBlock{}, mockllm.BoundBlock{State: mockllm.BlockInvalid}
	missing := []mockllm.MissingBlock{{Made: 1}}
	first := ask(1, mockllm.ThinkingCheck{}, "a")
	ask(1, mockllm.ThinkingCheck{Blocks: []mockllm.BoundBlock{valid}, Missing: missing}, "a", "b")
	ask(1, mockllm.ThinkingCheck{Blocks: []mockllm.BoundBlock{valid, invalid}, Missing: missing}, "c")

	if len(first.Blocks) != 3 { // the blocks are thinking, text, call
		t.Errorf("the model answers %d blocks", len(first.Blocks))
	}
	k := p.counted().Thinking
	if want := (thinking{Sent: 3, Valid: 2, Made: 0 + 1 + 2, Tainted: 1, Lost: 1, made: 3}); k != want {
		t.Errorf("counted %+v, want %+v", k, want)
	}
	if k.invalid() != 1 || k.valid() != 2.0/3 || k.kept() != 2.0/3 {
		t.Errorf("%d invalid, %f valid, %f kept", k.invalid(), k.valid(), k.kept())
	}
}

func TestThinkingHasBounds(t *testing.T) {
	f := good()
	f.Thinking = &thinkingFigure{Sent: 9, Kept: 0.5}
	if got := f.misses(bounds, 1.1); len(got) != 0 {
		t.Errorf("misses %q", got)
	}
	f.Thinking.Invalid, f.Thinking.Lost = 2, 1
	if got := f.misses(bounds, 1.1); len(got) != 2 {
		t.Errorf("misses %q, want two", got)
	}
	table := &strings.Builder{}
	if err := (report{Runs: []figure{f}}).writeTable(table); err != nil || !strings.Contains(table.String(), "- share that was valid") {
		t.Errorf("%v\n%s", err, table)
	}
}
