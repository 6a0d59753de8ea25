package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/tokens"
)

// A provider plays the model's provider. It answers each request with the next step of the story, reports usage, and
// refuses prompts that exceed its window.
type provider struct {
	billed     billed
	story      story
	limit      int // the largest prompt in tokens
	isVersion2 bool
	// `settled` waits until no historian runs. Without it, the result would depend on the machine's speed. It may be
	// nil.
	settled func(context.Context)

	// mu guards cache, sizes and tally.
	mu    sync.Mutex
	cache promptcache.Cache
	// `now` is the time of the simulated cache, in ms. It does not depend on the machine's speed: only a pause of the
	// user advances it.
	now   int64
	sizes map[promptcache.Hash]int
	tally tally
	// The model's last request for drops named the tags from firstAsked to `asked`.
	firstAsked, asked int
	look              looker
	seen              map[promptcache.Hash]block
	// `lines` contains all reminder lines that magicctx has added so far.
	newestText string
	lines      map[string]bool
	// The map `windows` says for each turn which needles the last prompt of that turn contains.
	windows map[int]sighting
}

func newProvider(b billed, s story, limit int) *provider {
	return &provider{
		billed: b, story: s, limit: limit, windows: map[int]sighting{}, lines: map[string]bool{}, cache: promptcache.Cache{Route: b.route, TTL: b.route.Life.Milliseconds()},
		sizes: map[promptcache.Hash]int{}, seen: map[promptcache.Hash]block{}, look: looker{isImplicit: b.route.IsImplicit()}, tally: tally{prices: b.prices, cliff: b.route.Cliff},
	}
}

func (p *provider) rule() mockllm.Rule {
	return mockllm.Rule{Name: "story", Match: func(*mockllm.Request) bool { return true }, Answer: p.answer}
}

// Requests for a session's title are not on the bill.
func isTitle(r *mockllm.Request) bool { return r.SystemContains("title generator") }

func (p *provider) counted() tally {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tally.clone()
}

func (p *provider) pause(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now += d.Milliseconds()
}

func (p *provider) window(turn int) sighting {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.windows[turn]
}

func (p *provider) answer(r *mockllm.Request) mockllm.Step {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.billed.has(r.Model) {
		return step(p.story.title()) // another model, with other prices, writes the titles, so they are not counted
	}
	asked := promptOf(r)
	at, known := position(r.Messages)
	messages := r.Messages
	blocks, head := p.blocks(r), headEnd(r.Blocks)
	raw := r.Blocks
	found := r.Thinking
	// The mock keeps every request, but this test never reads the content again, and it would take hundreds of
	// megabytes.
	r.Body, r.Messages, r.Blocks = nil, nil, nil

	if size := sizeOf(blocks); size > p.limit {
		p.tally.refuse(size)
		return mockllm.Fail(http.StatusBadRequest, "invalid_request_error",
			fmt.Sprintf("prompt is too long: %d tokens > %d maximum", size, p.limit))
	}
	if isForHistorian(asked) {
		usage := p.cache.Account(p.now, r.Model, blocks)
		a := compartments(asked)
		usage.Output = a.tokens()
		p.tally.remember(at, usage)
		p.look.summarise(a)
		s := step(a)
		s.Usage = &usage
		return s
	}
	if !known {
		p.tally.Strangers++
		return mockllm.Fail(http.StatusBadRequest, "invalid_request_error", "the conversation names no turn of the story")
	}

	usage := p.cache.Account(p.now, r.Model, blocks)
	var a answer
	if mockllm.WithoutTools(r) {
		a = compaction(asked, at)
		usage.Output = a.tokens()
		p.tally.summarise(usage)
	} else {
		a = p.story.after(at)
		p.newestText = asked
		p.tally.delivered.count(messages, p.lines)
		if p.story.asksAt(place{at.turn, at.step + 1}) && slices.Contains(r.Tools, "ctx_reduce") {
			a.drops = p.nextDrops(messages)
		}
		usage.Output = a.tokens()
		if p.billed.binds {
			a.thought = p.story.thought(at)
			usage.Output = a.tokens()
			p.tally.think(found, p.tally.extends(blocks))
		}
		isBust := p.tally.step(at, blocks, head, usage)
		p.look.see(p.read(raw, blocks), p.billed.prices, usage.Read == 0, isBust)
		if a.drops != "" {
			p.look.ask(p.firstAsked, p.asked)
		}
		if at.step == calls {
			p.windows[at.turn] = p.story.findNeedles(at, messages)
		}
	}
	s := step(a)
	s.Usage = &usage
	s.Until = p.settled
	return s
}

func promptOf(r *mockllm.Request) string {
	if len(r.Messages) == 0 {
		return ""
	}
	var texts []string
	for _, c := range r.Messages[len(r.Messages)-1].Content {
		texts = append(texts, c.Text)
	}
	return strings.Join(texts, "\n")
}

// The model never asks to drop the newest 25 tags, because magicctx protects the newest 20 from drops.
const keptTags = 25

var tag = regexp.MustCompile(`^§(\d+)§`)

// nextDrops returns the next range of tags that the model asks to drop, for example "12-40". The range begins after the
// range that the model has asked for before, and leaves out the newest keptTags tags. If the range is empty, nextDrops
// returns "".
func (p *provider) nextDrops(messages []mockllm.Message) string {
	newest := 0
	for _, m := range messages {
		for _, c := range m.Content {
			if found := tag.FindStringSubmatch(c.Text); found != nil {
				n, _ := strconv.Atoi(found[1])
				newest = max(newest, n)
			}
		}
	}
	first, last := p.asked+1, newest-keptTags
	if last < first {
		return ""
	}
	p.firstAsked, p.asked = first, last
	return fmt.Sprintf("%d-%d", first, last)
}

func step(a answer) mockllm.Step {
	s := mockllm.Say(a.text)
	if a.thought != "" {
		s.Blocks = append([]mockllm.Block{mockllm.Thinking(a.thought, "")}, s.Blocks...)
	}
	if a.tool != "" {
		s.Blocks = append(s.Blocks, mockllm.Tool(a.id, a.tool, a.input))
	}
	if a.drops != "" {
		s.Blocks = append(s.Blocks, mockllm.Tool("toolu_drop_"+a.drops, "ctx_reduce", map[string]any{"drop": a.drops}))
	}
	return s
}

func (a answer) tokens() int {
	n := tokens.Count(a.text) + tokens.Count(a.thought)
	if a.drops != "" {
		n += tokens.Count("ctx_reduce") + tokens.Count(`{"drop":"`+a.drops+`"}`)
	}
	if a.tool != "" {
		// mockllm.Tool has already encoded the arguments, so no error is possible.
		input, _ := json.Marshal(a.input)
		n += tokens.Count(a.tool) + tokens.Count(string(input))
	}
	return n
}

func (p *provider) blocks(r *mockllm.Request) []promptcache.Block {
	blocks := make([]promptcache.Block, len(r.Blocks))
	for i, b := range r.Blocks {
		hash := promptcache.HashOf(b.JSON)
		size, ok := p.sizes[hash]
		if !ok {
			size = blockTokens(b.JSON)
			p.sizes[hash] = size
		}
		blocks[i] = promptcache.Block{Hash: hash, Tokens: size, Breakpoint: b.Breakpoint}
	}
	if p.isVersion2 {
		placeBreakpoints(blocks, r.Blocks)
	}
	return blocks
}

// placeBreakpoints sets breakpoints as OpenCode 2.0.26 does: after the tools, after the first and the last part of the
// system prompt, and after the last message. It replaces the breakpoints of the OpenCode 2 beta that runs in this test.
// The beta sets its last breakpoint only after the user's newest prompt, so each step would pay again for all earlier
// steps of the turn, with and without magicctx.
func placeBreakpoints(blocks []promptcache.Block, raw []mockllm.PromptBlock) {
	in := func(i int, part string) bool { return i >= 0 && i < len(raw) && strings.HasPrefix(raw[i].Where, part) }
	for i := range blocks {
		isEdge := in(i, "system") && !(in(i-1, "system") && in(i+1, "system"))
		blocks[i].Breakpoint = i == len(blocks)-1 || isEdge || in(i, "tools") && !in(i+1, "tools")
	}
}

func (p *provider) read(raw []mockllm.PromptBlock, sizes []promptcache.Block) []block {
	all := make([]block, len(raw))
	for i := range raw {
		b, ok := p.seen[sizes[i].Hash]
		if !ok {
			b = blockOf(raw[i].JSON)
			b.tokens = sizes[i].Tokens
			p.seen[sizes[i].Hash] = b
		}
		all[i] = b
	}
	return all
}

func (p *provider) excess() (money float64, best []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.look.excess(p.limit)
}

// headEnd returns the number of blocks up to the end of magicctx's head. If the prompt has no head, it returns 0.
func headEnd(blocks []mockllm.PromptBlock) int {
	for i, b := range blocks {
		if bytes.Contains(b.JSON, []byte("<session-history>")) {
			return min(i+2, len(blocks))
		}
	}
	return 0
}

// blockTokens counts the tokens that the model reads: a text, a call's name and arguments, a result, or a tool's
// definition. The JSON around a text does not count.
func blockTokens(raw json.Value) int {
	var b struct {
		Type    string     `json:"type"`
		Text    string     `json:"text"`
		Thought string     `json:"thinking"`
		Name    string     `json:"name"`
		Input   json.Value `json:"input"`
		Content json.Value `json:"content"`
		Role    string     `json:"role"`
		Calls   []struct {
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if json.Unmarshal(raw, &b) != nil {
		return tokens.Count(string(raw)) // the block is a bare string
	}
	switch {
	case b.Role != "":
		n, _ := contentTokens(b.Content) // a message with calls may have no content, so the error is ignored
		for _, c := range b.Calls {
			n += tokens.Count(c.Function.Name) + tokens.Count(c.Function.Arguments)
		}
		return n
	case b.Type == "text":
		return tokens.Count(b.Text)
	case b.Type == "thinking":
		return tokens.Count(b.Thought)
	case b.Type == "tool_use":
		return tokens.Count(b.Name) + tokens.Count(string(b.Input))
	case b.Type == "tool_result":
		if n, ok := contentTokens(b.Content); ok {
			return n
		}
	}
	return tokens.Count(string(raw))
}

func contentTokens(content json.Value) (n int, ok bool) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return tokens.Count(text), true
	}
	var list []json.Value
	if json.Unmarshal(content, &list) != nil {
		return 0, false
	}
	for _, item := range list {
		n += blockTokens(item)
	}
	return n, true
}

func sizeOf(blocks []promptcache.Block) (n int) {
	for _, b := range blocks {
		n += b.Tokens
	}
	return n
}
