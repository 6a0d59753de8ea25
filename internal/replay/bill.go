package replay

import (
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// listPrice is the list price of Anthropic's Sonnet models, in $ per million tokens. It is used if the trace
// holds no prices.
var listPrice = schema.Price{Fresh: 3, Write: 3.75, Read: 0.30, Output: 15}

// A biller simulates the provider's cache for one way of sending a session, for example without magicctx.
type biller struct {
	cache promptcache.Cache
	sizes map[render.Hash]Sources // the token counts of a message, by the hash of its wire bytes
}

func newBiller() *biller {
	return &biller{sizes: make(map[render.Hash]Sources)}
}

// newestMarked is the number of newest messages that get a cache breakpoint from the harness. The harness's other
// breakpoints are on the system prompt.
const newestMarked = 2

// A prompt is the content of a request, without the definitions of tools.
type prompt struct {
	system   []string
	messages []render.WireMessage
	// head is the number of leading messages that replace summarised history.
	head int
}

// The method `request` simulates one request. It returns the usage that the provider would report, and the sources of
// the prompt's tokens. If the route has breakpoints, it sets them as the harness does: on the system prompt and on the
// newest messages. If a breakpoint is left over, it is set on the head's acknowledgement.
func (b *biller) request(at int64, model string, r route.Route, p prompt) (promptcache.Tokens, Sources) {
	b.cache.Route, b.cache.TTL = r, r.Life.Milliseconds()
	blocks, from := []promptcache.Block{}, Sources{}
	for i, text := range p.system {
		n := tokens.Count(text)
		from.System += n
		blocks = append(blocks, promptcache.Block{Hash: promptcache.HashOf([]byte(text)), Tokens: n, Breakpoint: i < r.Breakpoints-newestMarked})
	}
	first := len(blocks)
	marksHead := max(1, len(p.system))+newestMarked < r.Breakpoints
	for i := range p.messages {
		w := &p.messages[i]
		if len(w.Blocks) == 0 {
			continue
		}
		size := b.size(w)
		if i < p.head {
			size = Sources{Head: size.Total()}
		}
		from = from.plus(size)
		isMarked := marksHead && i < p.head && w.Key == transcript.AcknowledgementKey
		blocks = append(blocks, promptcache.Block{Hash: promptcache.Hash(w.Hash()), Tokens: size.Total(), Breakpoint: isMarked})
	}
	for i := max(first, len(blocks)-newestMarked); i < len(blocks); i++ {
		blocks[i].Breakpoint = true
	}
	return b.cache.Account(at, model, blocks), from
}

func (b *biller) size(w *render.WireMessage) Sources {
	h := w.Hash()
	s, ok := b.sizes[h]
	if !ok {
		s = sourcesOf(w)
		b.sizes[h] = s
	}
	return s
}
