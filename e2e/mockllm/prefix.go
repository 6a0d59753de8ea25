package mockllm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/promptcache"
)

type prefix struct {
	tools, system promptcache.Hash
	pieces        []piece
	// chain[i] is the hash of the tools, the system prompt and the first i pieces. spoken[j] is the hash of the tools,
	// the system prompt and the first j pieces that are not thinking.
	chain, spoken []promptcache.Hash
	says          []string
}

// A piece is one block of a message. It contains the message's role, but not the message's index, because the API joins
// neighbouring messages of the same role.
type piece struct {
	where      string
	role       string
	hash       promptcache.Hash
	signature  string
	isThinking bool
}

func newPrefix(tools, system promptcache.Hash) prefix {
	start := []promptcache.Hash{promptcache.HashOf(slices.Concat(tools[:], system[:]))}
	return prefix{tools: tools, system: system, chain: start, spoken: start}
}

func (p *prefix) add(next piece, says string) {
	p.pieces = append(p.pieces, next)
	p.says = append(p.says, says)
	p.chain = append(p.chain, link(p.chain, next))
	if !next.isThinking {
		p.spoken = append(p.spoken, link(p.spoken, next))
	}
}

// soFar returns a copy that stays the same when pieces are added to p. The copy does not contain the texts of the
// pieces, so that it does not keep whole requests in memory.
func (p *prefix) soFar() prefix {
	c := *p
	c.pieces, c.chain, c.spoken, c.says = slices.Clip(c.pieces), slices.Clip(c.chain), slices.Clip(c.spoken), nil
	return c
}

func link(chain []promptcache.Hash, next piece) promptcache.Hash {
	last := chain[len(chain)-1]
	return promptcache.HashOf(slices.Concat(last[:], []byte(next.role), next.hash[:]))
}

func (p *prefix) end() promptcache.Hash { return p.chain[len(p.chain)-1] }

func prefixOf(r *Request) prefix {
	head := func(blocks []PromptBlock) promptcache.Hash {
		var all []byte
		for _, b := range blocks {
			h := promptcache.HashOf(canonical(b.JSON))
			all = append(all, h[:]...)
		}
		return promptcache.HashOf(all)
	}
	tools, rest := r.Blocks[:len(r.Tools)], r.Blocks[len(r.Tools):]
	system, rest := rest[:len(r.System)], rest[len(r.System):]
	p := newPrefix(head(tools), head(system))
	for i, m := range r.Messages {
		for j, c := range m.Content {
			next := piece{
				where: fmt.Sprintf("messages.%d.content.%d", i, j), role: m.Role, hash: promptcache.HashOf(canonical(rest[0].JSON)),
			}
			says := c.Text
			switch c.Type {
			case "thinking":
				next.isThinking, next.signature = true, c.Signature
			case "redacted_thinking":
				next.isThinking, next.signature, says = true, c.Text, ""
			case "tool_use":
				says = c.ID
			}
			p.add(next, says)
			rest = rest[1:]
		}
	}
	return p
}

// The function `canonical` returns the same bytes for all blocks that mean the same to the API. A string means the same
// as a text block. The order of an object's members does not matter, and cache breakpoints do not matter.
func canonical(raw json.Value) []byte {
	if raw.Kind() == '"' {
		return encoded(object{"type": "text", "text": textOf(raw)})
	}
	var block object
	if json.Unmarshal(raw, &block) != nil {
		return raw
	}
	if list, ok := block["content"].([]any); ok { // the content of a tool result
		for _, item := range list {
			if o, ok := item.(map[string]any); ok {
				delete(o, "cache_control")
			}
		}
	}
	delete(block, "cache_control")
	return encoded(block)
}

func encoded(o object) []byte {
	raw, err := json.Marshal(o)
	if err != nil {
		panic("mockllm: a block that was decoded does not encode: " + err.Error())
	}
	return raw
}

func (b Block) piece() (next piece, says string) {
	o := object{"type": "text", "text": b.text}
	next, says = piece{role: "assistant"}, b.text
	switch b.kind {
	case kindThinking:
		o = object{"type": "thinking", "thinking": b.text, "signature": b.signature}
		next.isThinking, next.signature = true, b.signature
	case kindRedacted:
		o = object{"type": "redacted_thinking", "data": b.text}
		next.isThinking, next.signature, says = true, b.text, ""
	case kindTool:
		o = object{"type": "tool_use", "id": b.id, "name": b.name, "input": b.validInput()}
		says = b.id
	}
	next.hash = promptcache.HashOf(canonical(encoded(o)))
	return next, says
}

func difference(was, now *prefix, n int) string {
	switch {
	case was.system != now.system:
		return "The `system` prompt differs from the one this block was created with."
	case was.tools != now.tools:
		return "The `tools` differ from those this block was created with."
	}
	for i, old := range was.pieces {
		if i < n && now.chain[i+1] == was.chain[i+1] {
			continue
		}
		switch {
		case old.isThinking:
			return "The `thinking` block that preceded this one when it was created is missing from this request."
		case i < n:
			return fmt.Sprintf("%s differs from %s in the request that this block was created with.", now.pieces[i].where, old.where)
		}
		return fmt.Sprintf("%s of the request that this block was created with is missing.", old.where)
	}
	return fmt.Sprintf("%s was not there when this block was created.", now.pieces[len(was.pieces)].where)
}

// The method `continues` reports whether piece n belongs to the given answer. n counts from 0 and skips thinking.
// `answer` contains the texts of the answer and the ids of its calls. The host may have put a tag before a text after
// the model gave the answer. So it is enough that the piece contains the text.
func (p *prefix) continues(n int, answer []string) bool {
	for i, next := range p.pieces {
		switch {
		case next.isThinking:
		case n > 0:
			n--
		default:
			return next.role == "assistant" &&
				slices.ContainsFunc(answer, func(said string) bool { return strings.Contains(p.says[i], strings.TrimSpace(said)) })
		}
	}
	return false
}
