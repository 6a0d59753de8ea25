package main

import (
	"slices"

	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/schema"
)

// prices are what opencodetest says of its models, in $ per million tokens.
var prices = schema.Price{Fresh: 3, Write: 3.75, Read: 0.3, Output: 15}

// A tally counts what one run cost its user.
type tally struct {
	// Requests that were answered, summaries included, and of these the summaries.
	Requests, Summaries int
	// Turns whose answer was given.
	Turns int
	// Overflows are requests that were refused for their length, Strangers those
	// that no story explains.
	Overflows, Strangers int
	// Peak is the longest prompt, a refused one included.
	Peak int
	// Tokens of all answered requests.
	Tokens promptcache.Tokens
	Busts  []bust

	last []promptcache.Hash // of the main conversation
}

// A bust is a request of the main conversation that is not an extension of the
// one before.
type bust struct {
	// Turn and Step that the conversation had come to.
	Turn int `json:"turn"`
	Step int `json:"step"`
	// Kept is how much of the prompt was as before, Prompt all of it, in tokens.
	Kept   int `json:"kept"`
	Prompt int `json:"prompt"`
}

func (t *tally) clone() tally {
	c := *t
	c.Busts = slices.Clone(t.Busts)
	return c
}

// step counts a request of the main conversation, which had come to at.
func (t *tally) step(at place, blocks []promptcache.Block, usage promptcache.Tokens) {
	t.add(usage)
	hashes := make([]promptcache.Hash, len(blocks))
	for i, b := range blocks {
		hashes[i] = b.Hash
	}
	same := 0
	for same < min(len(hashes), len(t.last)) && hashes[same] == t.last[same] {
		same++
	}
	if same < len(t.last) {
		t.Busts = append(t.Busts, bust{Turn: at.turn, Step: at.step, Kept: sizeOf(blocks[:same]), Prompt: usage.Prompt()})
	}
	t.last = hashes
	if at.step == calls {
		t.Turns++
	}
}

// summarise counts a request of OpenCode's own compaction.
func (t *tally) summarise(usage promptcache.Tokens) {
	t.add(usage)
	t.Summaries++
}

func (t *tally) refuse(size int) {
	t.Overflows++
	t.Peak = max(t.Peak, size)
}

func (t *tally) add(usage promptcache.Tokens) {
	t.Requests++
	t.Tokens = t.Tokens.Add(usage)
	t.Peak = max(t.Peak, usage.Prompt())
}

// hitRate is the share of all prompts that was read from the cache, 0..1.
func (t *tally) hitRate() float64 {
	if prompts := t.Tokens.Prompt(); prompts > 0 {
		return float64(t.Tokens.Read) / float64(prompts)
	}
	return 0
}

// bill is what the prompts cost, in $; what the model says costs the same in all
// runs, but for the summaries.
func (t *tally) bill() float64 {
	prompts := t.Tokens
	prompts.Output = 0
	return promptcache.Bill(prompts, prices)
}

// fullBill is what prompts and answers cost, in $.
func (t *tally) fullBill() float64 { return promptcache.Bill(t.Tokens, prices) }
