package tokens

import "sync/atomic"

// A pieceCache stores the counts of recent pieces by their hash. Each piece has one slot, and the newest piece
// in a slot replaces the older one. So the cache has a fixed size (256 KiB), and needs neither locks nor
// allocations. The index and the slot together hold 63 of the 64 bits of a hash whose seed is random for each
// process. A wrong answer would need two pieces that agree in all of these bits.
type pieceCache struct {
	slots [1 << 15]atomic.Uint64 // the upper 48 bits of the hash, then the count
}

const countBits = 16

func (c *pieceCache) slot(hash uint64) *atomic.Uint64 {
	return &c.slots[hash%uint64(len(c.slots))]
}

func (c *pieceCache) get(hash uint64) (int, bool) {
	slot := c.slot(hash).Load()
	n := int(slot & (1<<countBits - 1))
	return n, n > 0 && (slot^hash)>>countBits == 0
}

func (c *pieceCache) put(hash uint64, n int) {
	if n < 1<<countBits {
		c.slot(hash).Store(hash>>countBits<<countBits | uint64(n))
	}
}
