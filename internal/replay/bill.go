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
	sizes map[render.Hash]Sources // of a message, by its wire bytes
}

func newBiller() *biller {
	return &biller{cache: promptcache.Cache{TTL: promptcache.DefaultTTL}, sizes: make(map[render.Hash]Sources)}
}

// request returns what the provider would count for a prompt at a time, and
// what the prompt is made of; both have the same sum. Like the harness it sets
// breakpoints on the system prompt and on the newest two messages; a provider
// that caches by itself finds every block again.
func (b *biller) request(at int64, model string, isAutomatic bool, system []string, wires []render.WireMessage) (promptcache.Tokens, Sources) {
	blocks, from := []promptcache.Block{}, Sources{}
	for _, text := range system {
		n := tokens.Count(text)
		from.System += n
		blocks = append(blocks, promptcache.Block{Hash: promptcache.HashOf([]byte(text)), Tokens: n, Breakpoint: true})
	}
	first := len(blocks)
	for i := range wires {
		w := &wires[i]
		if len(w.Blocks) == 0 {
			continue
		}
		size := b.size(w)
		from = from.plus(size)
		blocks = append(blocks, promptcache.Block{Hash: promptcache.Hash(w.Hash()), Tokens: size.Total(), Breakpoint: isAutomatic})
	}
	for i := max(first, len(blocks)-2); i < len(blocks); i++ {
		blocks[i].Breakpoint = true
	}
	return b.cache.Account(at, model, blocks), from
}

// size counts a message once.
func (b *biller) size(w *render.WireMessage) Sources {
	h := w.Hash()
	s, ok := b.sizes[h]
	if !ok {
		s = sourcesOf(w)
		b.sizes[h] = s
	}
	return s
}
