package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/mockllm"
	"github.com/magicctx/magicctx-host/internal/opencodetest"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/tokens"
)

// A provider answers every request from a story, reports usage as a real one
// would, and refuses what is longer than its window.
type provider struct {
	story  story
	window int // tokens

	mu    sync.Mutex
	cache promptcache.Cache // entries do not expire: a run must not depend on the machine's speed
	sizes map[promptcache.Hash]int
	tally tally
}

func newProvider(s story, window int) *provider {
	return &provider{story: s, window: window, sizes: map[promptcache.Hash]int{}}
}

// rule lets the provider answer all requests of a mock.
func (p *provider) rule() mockllm.Rule {
	return mockllm.Rule{Name: "story", Match: func(*mockllm.Request) bool { return true }, Answer: p.answer}
}

// counted returns what has been counted so far.
func (p *provider) counted() tally {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tally.clone()
}

func (p *provider) answer(r *mockllm.Request) mockllm.Step {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !strings.HasSuffix(opencodetest.ClaudeModel, "/"+r.Model) {
		return step(p.story.title()) // another model, with prices of its own: not counted
	}
	at, known := position(r.Messages)
	blocks := p.blocks(r)
	// The mock keeps all requests for its tests to look at. Nobody looks at these,
	// and hundreds of full windows are hundreds of megabytes.
	r.Body, r.Messages, r.Blocks = nil, nil, nil

	if size := sizeOf(blocks); size > p.window {
		p.tally.refuse(size)
		return mockllm.Fail(http.StatusBadRequest, "invalid_request_error",
			fmt.Sprintf("prompt is too long: %d tokens > %d maximum", size, p.window))
	}
	if !known {
		p.tally.Strangers++
		return mockllm.Fail(http.StatusBadRequest, "invalid_request_error", "the conversation names no turn of the story")
	}

	usage := p.cache.Account(0, r.Model, blocks)
	var a answer
	if mockllm.WithoutTools(r) {
		a = p.story.summary(at)
		usage.Output = a.tokens()
		p.tally.summarise(usage)
	} else {
		a = p.story.after(at)
		usage.Output = a.tokens()
		p.tally.step(at, blocks, usage)
	}
	s := step(a)
	s.Usage = &usage
	return s
}

func step(a answer) mockllm.Step {
	s := mockllm.Say(a.text)
	if a.tool != "" {
		s.Blocks = append(s.Blocks, mockllm.Tool(a.id, a.tool, a.input))
	}
	return s
}

func (a answer) tokens() int {
	n := tokens.Count(a.text)
	if a.tool != "" {
		// The arguments encode: mockllm.Tool has encoded them before.
		input, _ := json.Marshal(a.input)
		n += tokens.Count(a.tool) + tokens.Count(string(input))
	}
	return n
}

// blocks returns a request as its provider's cache sees it.
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
	return blocks
}

// blockTokens counts what the model reads of a block: a text without its JSON,
// a call's name and arguments, the text of a result, the whole of a definition.
func blockTokens(raw json.Value) int {
	var b struct {
		Type    string     `json:"type"`
		Text    string     `json:"text"`
		Name    string     `json:"name"`
		Input   json.Value `json:"input"`
		Content json.Value `json:"content"`
	}
	if json.Unmarshal(raw, &b) != nil {
		return tokens.Count(string(raw)) // a bare string
	}
	switch b.Type {
	case "text":
		return tokens.Count(b.Text)
	case "tool_use":
		return tokens.Count(b.Name) + tokens.Count(string(b.Input))
	case "tool_result":
		var text string
		if json.Unmarshal(b.Content, &text) == nil {
			return tokens.Count(text)
		}
		var list []json.Value
		if json.Unmarshal(b.Content, &list) == nil {
			n := 0
			for _, item := range list {
				n += blockTokens(item)
			}
			return n
		}
	}
	return tokens.Count(string(raw))
}

func sizeOf(blocks []promptcache.Block) (n int) {
	for _, b := range blocks {
		n += b.Tokens
	}
	return n
}
