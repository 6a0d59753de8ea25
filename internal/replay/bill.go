package replay

import (
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/schema"
)

// listPrice is used when the trace tells no prices: 3 / 3.75 / 0.30 a million
// tokens fresh / written / read, the list price of Anthropic's Sonnet models.
var listPrice = schema.Price{Fresh: 3, Write: 3.75, Read: 0.30, Output: 15}

// A biller simulates the provider's cache for one way of sending a session.
type biller struct {
	cache promptcache.Cache
	sizes map[render.Hash]int // tokens of a message, by its wire bytes
}

func newBiller() *biller {
	return &biller{cache: promptcache.Cache{TTL: promptcache.DefaultTTL}, sizes: make(map[render.Hash]int)}
}

// request returns what the provider would count for a prompt at a time. Like
// the harness it sets breakpoints on the system prompt and on the newest two
// messages.
func (b *biller) request(at int64, model string, system []string, wires []render.WireMessage) promptcache.Tokens {
	blocks := []promptcache.Block{}
	for _, text := range system {
		blocks = append(blocks, promptcache.Block{Hash: promptcache.HashOf([]byte(text)), Tokens: tokens.Count(text), Breakpoint: true})
	}
	first := len(blocks)
	for i := range wires {
		w := &wires[i]
		if len(w.Blocks) == 0 {
			continue
		}
		blocks = append(blocks, promptcache.Block{Hash: promptcache.Hash(w.Hash()), Tokens: b.size(w)})
	}
	for i := max(first, len(blocks)-2); i < len(blocks); i++ {
		blocks[i].Breakpoint = true
	}
	return b.cache.Account(at, model, blocks)
}

// size counts a message once.
func (b *biller) size(w *render.WireMessage) int {
	h := w.Hash()
	if n, ok := b.sizes[h]; ok {
		return n
	}
	n := 0
	for i := range w.Blocks {
		bl := &w.Blocks[i]
		n += tokens.Count(bl.Text) + tokens.Count(string(bl.Input)) + tokens.Count(bl.Name)
		if bl.Kind == render.FileBlock {
			n += tokens.Image(bl.Raw)
		} else {
			n += tokens.Count(bl.Raw)
		}
	}
	b.sizes[h] = n
	return n
}
