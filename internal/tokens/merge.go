package tokens

import "sync"

// A merger is the working memory of one byte pair merge. The piece is a linked list of parts, named by the index of
// their first byte. `candidates` is a heap of the pairs that may merge, lowest rank first and then leftmost. Chinese or
// Japanese text has pieces of thousands of bytes, and the heap makes the merge O(n log n).
type merger struct {
	next       []int32  // start of the part that follows the part at this index
	prev       []int32  // start of the part before the part at this index
	rank       []uint32 // rank of this part together with the next one, or noRank if the two do not merge
	candidates []uint64 // rank, then start; a candidate is stale if the rank has changed since
}

var mergers = sync.Pool{New: func() any { return new(merger) }}

func (v *vocabulary) merge(piece string) int {
	m := mergers.Get().(*merger)
	defer mergers.Put(m)
	m.reset(len(piece))
	for i := range len(piece) - 1 {
		m.setRank(int32(i), v.pairs[int(piece[i])<<8|int(piece[i+1])])
	}
	m.heapify()

	parts := len(piece)
	for len(m.candidates) > 0 {
		lowest := m.pop()
		at := int32(lowest & (1<<32 - 1))
		if m.rank[at] != uint32(lowest>>32) {
			continue
		}
		m.joinNext(at)
		parts--
		m.push(at, v.rankPair(piece, m, at))
		if before := m.prev[at]; before >= 0 {
			m.push(before, v.rankPair(piece, m, before))
		}
	}
	return parts
}

// rankPair returns the rank of the token that the part at index `at` and the next part form together, or noRank.
func (v *vocabulary) rankPair(piece string, m *merger, at int32) uint32 {
	second := m.next[at]
	if int(second) == len(piece) {
		return noRank
	}
	return v.rank(piece[at:m.next[second]])
}

func (m *merger) reset(n int) {
	if cap(m.next) < n {
		m.next, m.prev, m.rank = make([]int32, n), make([]int32, n), make([]uint32, n)
	}
	m.next, m.prev, m.rank = m.next[:n], m.prev[:n], m.rank[:n]
	for i := range n {
		m.next[i], m.prev[i], m.rank[i] = int32(i+1), int32(i-1), noRank
	}
	m.candidates = m.candidates[:0]
}

func (m *merger) joinNext(at int32) {
	gone := m.next[at]
	m.rank[gone] = noRank
	m.next[at] = m.next[gone]
	if after := m.next[at]; int(after) < len(m.prev) {
		m.prev[after] = at
	}
}

// A later heapify moves the candidate to its place.
func (m *merger) setRank(at int32, rank uint32) {
	m.rank[at] = rank
	if rank != noRank {
		m.candidates = append(m.candidates, uint64(rank)<<32|uint64(at))
	}
}

func (m *merger) heapify() {
	for i := len(m.candidates)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
}

func (m *merger) push(at int32, rank uint32) {
	m.setRank(at, rank)
	if rank == noRank {
		return
	}
	heap := m.candidates
	for i := len(heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if heap[parent] <= heap[i] {
			break
		}
		heap[parent], heap[i] = heap[i], heap[parent]
		i = parent
	}
}

func (m *merger) pop() uint64 {
	lowest, last := m.candidates[0], len(m.candidates)-1
	m.candidates[0] = m.candidates[last]
	m.candidates = m.candidates[:last]
	m.down(0)
	return lowest
}

func (m *merger) down(i int) {
	heap := m.candidates
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && heap[child+1] < heap[child] {
			child++
		}
		if heap[i] <= heap[child] {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}
