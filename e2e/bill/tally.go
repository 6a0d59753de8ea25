package main

import (
	"slices"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/schema"
)

// prices are the prices that opencodetest gives to its Claude models, in $ per million tokens.
var prices = schema.Price{Fresh: 3, Write: 3.75, Read: 0.3, Output: 15}

// A tally counts the costs of one run.
type tally struct {
	// Requests counts all answered requests, and Summaries the requests among them that asked for a summary.
	Requests, Summaries int
	// Runs are the runs of the historian. Their requests count in Requests, too.
	Runs []historianRun
	// Turns counts the turns that got their answer.
	Turns int
	// Overflows counts the requests that were refused for their length. Strangers counts the requests
	// that do not fit the story.
	Overflows, Strangers int
	// Peak is the length of the longest prompt, including refused ones.
	Peak int
	// Tokens sums up all answered requests.
	Tokens   promptcache.Tokens
	Busts    []bust
	Thinking thinking

	delivered lineCount
	prices    schema.Price       // the prices of the model, in $ per million tokens
	cliff     route.Cliff        // from this size on, a prompt costs more than these prices
	extra     promptcache.Tokens // the tokens that are charged in addition to Tokens, because of the cliff
	last      []promptcache.Hash // the newest prompt of the main conversation
}

// A bust is a request of the main conversation that does not extend the previous one.
type bust struct {
	// Turn and Step are the place that the conversation had reached.
	Turn int `json:"turn"`
	Step int `json:"step"`
	// Kept is the length of the unchanged start of the prompt, and Prompt the length of all of it, in
	// tokens.
	Kept   int `json:"kept"`
	Prompt int `json:"prompt"`
	// Soft means that the baseline of magicctx's head stayed the same. Cold means that the provider did not
	// read all of the baseline from its cache.
	Soft bool `json:"soft,omitempty"`
	Cold bool `json:"cold,omitempty"`
}

// A historianRun is a request for compartments.
type historianRun struct {
	// Turn is the newest turn that the request names.
	Turn   int                `json:"turn"`
	Tokens promptcache.Tokens `json:"tokens"`
}

// A thinking counts the thinking blocks of a model that binds them.
type thinking struct {
	// Sent counts the blocks in all requests of the main conversation, and Valid the blocks among them that
	// the model could still read. Made sums up, for each request, the blocks that the model had made by then.
	// If no request left out a block, Sent equals Made.
	Sent, Valid, Made int
	// Tainted counts the requests with a block that is invalid because something before it has changed.
	Tainted int
	// Lost counts the valid blocks that a request left out although it was not a bust.
	Lost int

	made int // the number of blocks in the answers so far
}

// invalid returns the number of sent blocks that the model could not read.
func (t thinking) invalid() int { return t.Sent - t.Valid }

// valid returns the share of the sent blocks that the model could read, from 0 to 1.
func (t thinking) valid() float64 {
	if t.Sent == 0 {
		return 1
	}
	return float64(t.Valid) / float64(t.Sent)
}

// kept returns the share of the model's thinking that the model could still read, from 0 to 1. It
// counts all requests.
func (t thinking) kept() float64 {
	if t.Made == 0 {
		return 1
	}
	return float64(t.Valid) / float64(t.Made)
}

// think counts the thinking in a request of the main conversation and in its answer.
func (t *tally) think(found mockllm.ThinkingCheck, extends bool) {
	k := &t.Thinking
	valid := found.Count(mockllm.BlockValid)
	k.Sent += len(found.Blocks)
	k.Valid += valid
	k.Made += k.made
	k.made++
	if valid < len(found.Blocks) {
		k.Tainted++
	}
	if extends {
		k.Lost += len(found.Missing)
	}
}

func (t *tally) clone() tally {
	c := *t
	c.Busts = slices.Clone(t.Busts)
	return c
}

// step counts a request of the main conversation. at is the place that the conversation had reached. head is the
// number of blocks up to the end of the acknowledgement in magicctx's head, or 0 without a head. step reports whether
// the request is a bust.
func (t *tally) step(at place, blocks []promptcache.Block, head int, usage promptcache.Tokens) (isBust bool) {
	t.add(usage)
	hashes := make([]promptcache.Hash, len(blocks))
	for i, b := range blocks {
		hashes[i] = b.Hash
	}
	if same := t.same(blocks); same < len(t.last) {
		b := bust{Turn: at.turn, Step: at.step, Kept: sizeOf(blocks[:same]), Prompt: usage.Prompt()}
		b.Soft = head > 0 && same >= head
		// After a pause or with another model, the cache has no part of the prompt, not even its start.
		b.Cold = b.Soft && usage.Read > 0 && usage.Read < sizeOf(blocks[:head])
		t.Busts = append(t.Busts, b)
		isBust = true
	}
	t.last = hashes
	if at.step == calls {
		t.Turns++
	}
	return isBust
}

// same returns the number of leading blocks that equal those of the previous request.
func (t *tally) same(blocks []promptcache.Block) (n int) {
	for n < min(len(blocks), len(t.last)) && blocks[n].Hash == t.last[n] {
		n++
	}
	return n
}

// extends reports whether a request begins with all of the previous one.
func (t *tally) extends(blocks []promptcache.Block) bool { return t.same(blocks) == len(t.last) }

// summarise counts a request of OpenCode's own compaction.
func (t *tally) summarise(usage promptcache.Tokens) {
	t.add(usage)
	t.Summaries++
}

// remember counts a request of the historian.
func (t *tally) remember(at place, usage promptcache.Tokens) {
	t.add(usage)
	t.Runs = append(t.Runs, historianRun{Turn: at.turn, Tokens: usage})
}

// ofHistorian returns the billed tokens of the historian's requests.
func (t *tally) ofHistorian() (sum promptcache.Tokens) {
	for _, r := range t.Runs {
		sum = sum.Add(r.Tokens.Billed(t.cliff))
	}
	return sum
}

func (t *tally) refuse(size int) {
	t.Overflows++
	t.Peak = max(t.Peak, size)
}

func (t *tally) add(usage promptcache.Tokens) {
	t.Requests++
	t.Tokens = t.Tokens.Add(usage)
	t.extra = t.extra.Add(usage.Billed(t.cliff)).Minus(usage)
	t.Peak = max(t.Peak, usage.Prompt())
}

// hitRate returns the share of all prompt tokens that were read from the cache, 0..1.
func (t *tally) hitRate() float64 {
	if prompts := t.Tokens.Prompt(); prompts > 0 {
		return float64(t.Tokens.Read) / float64(prompts)
	}
	return 0
}

// bill returns the cost of the prompts in $. It leaves out the answers: apart from the summaries, they cost the same
// in all runs.
func (t *tally) bill() float64 {
	prompts := t.Tokens.Add(t.extra)
	prompts.Output = 0
	return promptcache.Bill(prompts, t.prices)
}

// parts returns the parts of the full bill without the historian: tokens read from the cache, other tokens of the
// prompts, and answers.
func (t *tally) parts() (reads, anew, answers float64) {
	own, historian := t.Tokens, t.ofHistorian()
	part := func(of func(promptcache.Tokens) promptcache.Tokens) float64 {
		return promptcache.Bill(of(own), t.prices) - promptcache.Bill(of(historian), t.prices)
	}
	reads = part(func(u promptcache.Tokens) promptcache.Tokens { return promptcache.Tokens{Read: u.Read} })
	anew = part(func(u promptcache.Tokens) promptcache.Tokens {
		return promptcache.Tokens{Fresh: u.Fresh, Write: u.Write}
	})
	answers = part(func(u promptcache.Tokens) promptcache.Tokens { return promptcache.Tokens{Output: u.Output} })
	return reads, anew, answers
}

// fullBill returns the cost of prompts and answers in $.
func (t *tally) fullBill() float64 { return promptcache.Bill(t.Tokens.Add(t.extra), t.prices) }
