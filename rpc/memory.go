package rpc

import (
	"fmt"
	"sync"

	"github.com/magicctx/magicctx-host/schema"
)

const (
	// maxFrameMemory limits the bytes of all frames that are arriving, waiting or running.
	maxFrameMemory = 1 << 30
	// maxClientMemory limits the bytes of the frames of one connection. It leaves room for the largest possible frame,
	// even while the buffer of this frame grows, and for some smaller frames that wait.
	maxClientMemory = schema.MaxAttachmentBytes + 128<<20

	// maxNames limits the total length of the names of all open directories, in bytes. A status contains all these
	// names and must fit into one frame.
	maxNames       = 2 << 20
	maxClientNames = 256 << 10
)

// A memory counts the bytes that frames use, and refuses bytes above a limit. A nil *memory has no limit.
type memory struct {
	of    string // what the bytes are, for example "the messages of this client"
	limit int
	sum   *memory // the sum over all connections; nil if this memory is the sum

	mu   sync.Mutex
	used int
}

// If n bytes are too much, the error wraps errNoMemory.
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

type reservation struct {
	of    *memory
	bytes int
}

func (r *reservation) grow(n int) error {
	if err := r.of.take(n); err != nil {
		return err
	}
	r.bytes += n
	return nil
}

func (r *reservation) shrink(n int) {
	r.of.give(n)
	r.bytes -= n
}

// release gives back all bytes of the reservation. If it is called again, it does nothing.
func (r *reservation) release() {
	if r != nil {
		r.shrink(r.bytes)
	}
}
