package rpc

import (
	"fmt"
	"sync"

	"github.com/magicctx/magicctx-host/schema"
)

const (
	// maxFrameMemory bounds the memory of all frames that the host holds: those
	// that are still arriving, and those whose calls wait or run.
	maxFrameMemory = 1 << 30
	// maxClientMemory is the part of maxFrameMemory that one connection may take. It is enough for the
	// largest frame while that frame grows, and for smaller frames that wait.
	maxClientMemory = schema.MaxAttachmentBytes + 128<<20

	// maxNames bounds the names of the directories that all clients have open, as
	// a status writes them. A status has to fit into one frame.
	maxNames       = 2 << 20
	maxClientNames = 256 << 10
)

// A memory counts bytes against a bound, for example the bytes of frames. A nil
// *memory has no bound.
type memory struct {
	of    string // what the bytes are, for example "the messages of this client"
	limit int
	sum   *memory // the sum over all connections, nil if this is the sum itself

	mu   sync.Mutex
	used int
}

// take reserves n bytes. If that is too much, it reserves nothing, and the error
// wraps errNoMemory.
func (m *memory) take(n int) error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used+n > m.limit {
		return fmt.Errorf("%w: %s take %d bytes, and may take %d", errNoMemory, m.of, m.used, m.limit)
	}
	if err := m.sum.take(n); err != nil {
		return err
	}
	m.used += n
	return nil
}

func (m *memory) give(n int) {
	if m == nil {
		return
	}
	m.mu.Lock()
	m.used -= n
	m.mu.Unlock()
	m.sum.give(n)
}

// A reservation is the memory of one frame.
type reservation struct {
	of    *memory
	bytes int
}

// grow reserves n more bytes.
func (r *reservation) grow(n int) error {
	if err := r.of.take(n); err != nil {
		return err
	}
	r.bytes += n
	return nil
}

// shrink gives n bytes back.
func (r *reservation) shrink(n int) {
	r.of.give(n)
	r.bytes -= n
}

// release gives all memory back. A second release does nothing.
func (r *reservation) release() {
	if r != nil {
		r.shrink(r.bytes)
	}
}
