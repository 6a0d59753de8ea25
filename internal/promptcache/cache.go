package promptcache

import (
	"crypto/sha256"
	"math"

	"github.com/magicctx/magicctx-host/internal/route"
)

type Hash [16]byte

// HashOf returns the hash of a block's content. The content must not include the cache marker, because a harness moves
// its breakpoints, which does not change the prefix.
func HashOf(content []byte) Hash {
	sum := sha256.Sum256(content)
	return Hash(sum[:len(Hash{})])
}

// Blocks are in wire order: tools, system, messages.
type Block struct {
	Hash Hash
	// Tokens is the size of this block alone. Blocks with the same hash must have the same size.
	Tokens int
	// Breakpoint asks the provider to cache the prefix that ends with this block.
	Breakpoint bool
}

// Tokens is the provider's count of one request. Fresh, Write and Read add up to the size of the prompt. Output is the
// size of the answer, and a Cache leaves Output 0.
type Tokens struct {
	Fresh  int `json:"fresh"`
	Write  int `json:"written"`
	Read   int `json:"read"`
	Output int `json:"output,omitzero"`
}

func (t Tokens) Prompt() int { return t.Fresh + t.Write + t.Read }

func (t Tokens) Add(u Tokens) Tokens {
	return Tokens{t.Fresh + u.Fresh, t.Write + u.Write, t.Read + u.Read, t.Output + u.Output}
}

func (t Tokens) Minus(u Tokens) Tokens {
	return Tokens{t.Fresh - u.Fresh, t.Write - u.Write, t.Read - u.Read, t.Output - u.Output}
}

// Billed returns the tokens that the provider charges for. Above a certain size of the prompt (the model's cliff),
// prices rise. Billed expresses the rise in tokens: if prices double, it returns twice the tokens.
func (t Tokens) Billed(c route.Cliff) Tokens {
	factor := c.At(t.Prompt())
	times := func(n int) int { return int(math.Round(float64(n) * factor)) }
	return Tokens{times(t.Fresh), times(t.Write), times(t.Read), times(t.Output)}
}

// A Cache simulates the cached prefixes of one provider account. The zero value is an empty cache that follows
// Anthropic's rules and never expires its entries. A Cache is not safe for concurrent use.
type Cache struct {
	// TTL is the life of an entry since its last use, in ms. If TTL is 0, entries do not expire.
	TTL int64
	// Route has the provider's rules for caching prefixes. The zero Route means Anthropic's rules. The cache uses TTL,
	// and ignores Route.Life.
	Route route.Route

	lastUse map[Hash]int64 // keyed by the chain hash of the prefix
}

// Account simulates one request at nowMS (Unix ms, never decreasing), and returns the usage that the provider would
// report. Models do not share prefixes, so prefixes are cached per model.
func (c *Cache) Account(nowMS int64, model string, blocks []Block) Tokens {
	r := c.Route
	if r.Name == "" {
		r = route.Named("anthropic")
	}
	prefixes := chain(model, blocks)
	if r.IsImplicit() {
		return c.accountImplicit(nowMS, r, prefixes)
	}

	read := 0
	for i, b := range blocks {
		if !b.Breakpoint {
			continue
		}
		if hit := c.longest(nowMS, prefixes[max(0, i-r.Lookback):i+1]); hit != nil {
			read = max(read, hit.tokens)
			c.remember(nowMS, hit.hash)
		}
	}

	cacheable := 0
	for i, b := range blocks {
		if b.Breakpoint && prefixes[i].tokens >= r.MinTokens {
			cacheable = prefixes[i].tokens
			c.remember(nowMS, prefixes[i].hash)
		}
	}
	// This difference is never negative. A hit ends at a breakpoint or before it, and its prefix was long enough when
	// it was cached. So `read` cannot exceed `cacheable`.
	return Tokens{Fresh: size(prefixes) - cacheable, Write: cacheable - read, Read: read}
}

// accountImplicit simulates a provider that caches every prompt, without breakpoints. The real provider compares
// prompts token by token, but the simulation compares whole blocks. If the provider charges nothing extra for writing
// to the cache, Write is 0.
func (c *Cache) accountImplicit(nowMS int64, r route.Route, prefixes []prefix) Tokens {
	read := 0
	if hit := c.longest(nowMS, prefixes); hit != nil {
		read = cacheable(r, hit.tokens)
	}
	for _, p := range prefixes {
		c.remember(nowMS, p.hash)
	}
	t := Tokens{Read: read}
	if r.Write > 1 {
		t.Write = cacheable(r, size(prefixes)) - read
	}
	t.Fresh = size(prefixes) - t.Read - t.Write
	return t
}

func cacheable(r route.Route, tokens int) int {
	switch {
	case tokens < r.MinTokens:
		return 0
	case r.Step > 0:
		return tokens - (tokens-r.MinTokens)%r.Step
	}
	return tokens
}

func size(prefixes []prefix) int {
	if len(prefixes) == 0 {
		return 0
	}
	return prefixes[len(prefixes)-1].tokens
}

func (c *Cache) longest(nowMS int64, prefixes []prefix) *prefix {
	for i := len(prefixes) - 1; i >= 0; i-- {
		if used, ok := c.lastUse[prefixes[i].hash]; ok && !c.isExpired(nowMS, used) {
			return &prefixes[i]
		}
	}
	return nil
}

func (c *Cache) isExpired(nowMS, lastUse int64) bool {
	return c.TTL > 0 && nowMS-lastUse > c.TTL
}

func (c *Cache) remember(nowMS int64, h Hash) {
	if c.lastUse == nil {
		c.lastUse = make(map[Hash]int64)
	}
	c.lastUse[h] = nowMS
}

type prefix struct {
	hash   Hash
	tokens int
}

func chain(model string, blocks []Block) []prefix {
	out := make([]prefix, len(blocks))
	last := prefix{hash: HashOf([]byte(model))}
	for i, b := range blocks {
		last.hash = HashOf(append(last.hash[:], b.Hash[:]...))
		last.tokens += b.Tokens
		out[i] = last
	}
	return out
}
