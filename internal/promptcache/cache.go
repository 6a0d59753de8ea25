package promptcache

import "crypto/sha256"

const (
	// MinTokens is the shortest prefix that is cached. Anthropic documents 1024
	// tokens for its Sonnet and Opus models (more for some others); OpenAI
	// documents the same figure for its automatic cache.
	MinTokens = 1024

	// LookbackBlocks is how far before a breakpoint the provider still finds a
	// remembered prefix. Anthropic documents 20 blocks ("20-block lookback
	// window"): a turn that appends more blocks than that after the last
	// breakpoint re-writes its whole prefix.
	LookbackBlocks = 20

	// DefaultTTL is the life of a remembered prefix in ms, counted from its last
	// use. Anthropic documents 5 minutes, refreshed at no cost by each hit.
	DefaultTTL = 5 * 60 * 1000
)

// A Hash identifies the content of a block.
type Hash [16]byte

// HashOf returns the hash of a block's content. The content must not contain
// the cache marker itself: moving a breakpoint does not change a prefix.
func HashOf(content []byte) Hash {
	sum := sha256.Sum256(content)
	return Hash(sum[:len(Hash{})])
}

// A Block is one piece of a prompt, in wire order (tools, system, messages).
type Block struct {
	Hash Hash
	// Tokens is the size of this block alone. It follows from the content:
	// blocks of one hash must have one size.
	Tokens int
	// Breakpoint asks the provider to remember the prefix that ends here.
	Breakpoint bool
}

// Tokens is how a provider counts one request. Fresh, Write and Read add up to
// the size of the prompt; Output is the answer, which a Cache does not know.
type Tokens struct {
	Fresh, Write, Read, Output int
}

// Prompt returns the size of the prompt.
func (t Tokens) Prompt() int { return t.Fresh + t.Write + t.Read }

// Add returns the sum of two counts.
func (t Tokens) Add(u Tokens) Tokens {
	return Tokens{t.Fresh + u.Fresh, t.Write + u.Write, t.Read + u.Read, t.Output + u.Output}
}

// A Cache remembers the prefixes of one provider account. The zero value is an
// empty cache whose entries never expire. It is not safe for concurrent use.
type Cache struct {
	// TTL is the life of an entry since its last use, in ms; 0 means for ever.
	TTL int64

	lastUse map[Hash]int64 // by chain hash of the prefix
}

// Account serves one request at nowMS (Unix ms, never decreasing) and returns
// what the provider would report. Prefixes are remembered per model, because
// providers do not share them between models.
func (c *Cache) Account(nowMS int64, model string, blocks []Block) Tokens {
	prefixes := chain(model, blocks)

	read := 0
	for i, b := range blocks {
		if !b.Breakpoint {
			continue
		}
		if hit := c.longest(nowMS, prefixes[max(0, i-LookbackBlocks):i+1]); hit != nil {
			read = max(read, hit.tokens)
			c.remember(nowMS, hit.hash)
		}
	}

	cacheable := 0
	for i, b := range blocks {
		if b.Breakpoint && prefixes[i].tokens >= MinTokens {
			cacheable = prefixes[i].tokens
			c.remember(nowMS, prefixes[i].hash)
		}
	}

	total := 0
	if len(prefixes) > 0 {
		total = prefixes[len(prefixes)-1].tokens
	}
	// Reading never exceeds what is cacheable: a hit lies at or before a
	// breakpoint, and was long enough when it was remembered.
	return Tokens{Fresh: total - cacheable, Write: cacheable - read, Read: read}
}

// longest returns the last of the prefixes that is remembered, nil if none is.
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

// A prefix is everything up to and including one block.
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
