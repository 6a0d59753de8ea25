package main

import (
	"slices"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/schema"
)

// opencodetest configures OpenCode with the same prices. They are in $ per million tokens.
var prices = schema.Price{Fresh: 3, Write: 3.75, Read: 0.3, Output: 15}

type tally struct {
	// Requests counts all answered requests, including the historian's (Runs). Summaries counts the requests that asked
	// for a summary.
	Requests, Summaries int
	Runs                []historianRun
	Turns               int
	// Overflows counts requests that were refused as too long. Strangers counts requests that contain no turn of the
	// story.
	Overflows, Strangers int
	// Peak is the size of the longest prompt in tokens. It includes refused prompts.
	Peak     int
	Tokens   promptcache.Tokens
	Busts    []bust
	Thinking thinking

	delivered lineCount
	prices    schema.Price       // the prices of the model, in $ per million tokens
	cliff     route.Cliff        // from this size on, a prompt costs more than these prices
	extra     promptcache.Tokens // tokens that cost more because the prompt exceeded the cliff
	last      []promptcache.Hash // the newest prompt of the main conversation
}

// A bust is a request of the main conversation that does not extend the previous request.
type bust struct {
	// The conversation had reached Turn and Step.
	Turn int `json:"turn"`
	Step int `json:"step"`
	// Kept is the length of the prompt's unchanged start in tokens.
	Kept   int `json:"kept"`
	Prompt int `json:"prompt"`
	// Soft means that the baseline did not change. Cold means that the bust is soft, but the provider's cache did not
	// contain the whole baseline.
	Soft bool `json:"soft,omitempty"`
	Cold bool `json:"cold,omitempty"`
}

type historianRun struct {
	Turn   int                `json:"turn"`
	Tokens promptcache.Tokens `json:"tokens"`
}

type thinking struct {
	// These are sums over the requests of the main conversation. Sent counts the thinking blocks in the requests. Valid
	// counts the sent blocks that the model could still read. Made counts, for each request, the blocks that the model
	// had made before it.
	Sent, Valid, Made int
	// Tainted counts requests with a block that became invalid because the prompt before it changed.
	Tainted int
	// Lost counts the valid blocks that a request left out although the request was not a bust.
	Lost int

	made int // the number of blocks in the answers so far
}

func (t thinking) invalid() int { return t.Sent - t.Valid }

// The method `valid` returns the share of the sent blocks that were valid, from 0 to 1.
func (t thinking) valid() float64 {
	if t.Sent == 0 {
		return 1
	}
	return float64(t.Valid) / float64(t.Sent)
}

// kept returns the share of the model's thinking blocks that came back to the model and were still valid, from 0 to 1.
func (t thinking) kept() float64 {
	if t.Made == 0 {
		return 1
	}
	return float64(t.Valid) / float64(t.Made)
}

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

// step records a request of the main conversation at the turn and step in `at`, and reports whether the request is a
// bust. head is the number of blocks up to the end of magicctx's head, or 0 if the prompt has no head.
func (t *tally) step(at place, blocks []promptcache.Block, head int, usage promptcache.Tokens) (isBust bool) {
	t.add(usage)
	hashes := make([]promptcache.Hash, len(blocks))
	for i, b := range blocks {
		hashes[i] = b.Hash
	}
	if same := t.same(blocks); same < len(t.last) {
		b := bust{Turn: at.turn, Step: at.step, Kept: sizeOf(blocks[:same]), Prompt: usage.Prompt()}
		b.Soft = head > 0 && same >= head
		// After a pause or a change of the model, the cache contains nothing, even of the baseline. Such a bust does
		// not count as cold.
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

func (t *tally) same(blocks []promptcache.Block) (n int) {
	for n < min(len(blocks), len(t.last)) && blocks[n].Hash == t.last[n] {
		n++
	}
	return n
}

func (t *tally) extends(blocks []promptcache.Block) bool { return t.same(blocks) == len(t.last) }

func (t *tally) summarise(usage promptcache.Tokens) {
	t.add(usage)
	t.Summaries++
}

func (t *tally) remember(at place, usage promptcache.Tokens) {
	t.add(usage)
	t.Runs = append(t.Runs, historianRun{Turn: at.turn, Tokens: usage})
}

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

func (t *tally) hitRate() float64 {
	if prompts := t.Tokens.Prompt(); prompts > 0 {
		return float64(t.Tokens.Read) / float64(prompts)
	}
	return 0
}

// bill returns the cost of the prompts. It leaves out the answers: apart from summaries, they cost the same in all
// runs.
func (t *tally) bill() float64 {
	prompts := t.Tokens.Add(t.extra)
	prompts.Output = 0
	return promptcache.Bill(prompts, t.prices)
}

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

func (t *tally) fullBill() float64 { return promptcache.Bill(t.Tokens.Add(t.extra), t.prices) }
