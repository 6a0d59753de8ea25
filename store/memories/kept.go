package memories

import (
	"slices"
	"sync"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// A moment identifies the state of the database well enough for a cache: it is the current second (Unix time) and the
// number of writes by this process so far. A cached value is used as long as both are the same. After a write by
// another process, the cache may be stale until the second ends.
type moment struct{ second, writes int64 }

func (s *Memories) now() moment { return moment{s.db.Clock.Now() / 1000, s.db.MemoryWrites.Load()} }

// `kept` is a cache of notes. Each pass asks the same questions about them. All cached notes were read at the same
// moment.
type kept struct {
	mu sync.Mutex
	moment
	notes map[question][]chronicle.Note
}

// A question identifies a query about the notes of a project.
type question struct {
	about, project string
	number         int64
}

// The method `notes` answers a question from the cache if the cache was filled at the same moment. Otherwise, it gets
// the answer from `read`, and puts it into the cache.
func (s *Memories) notes(q question, read func() ([]chronicle.Note, error)) ([]chronicle.Note, error) {
	now, k := s.now(), &s.kept
	k.mu.Lock()
	known, isKnown := k.notes[q]
	isKnown = isKnown && k.moment == now
	k.mu.Unlock()
	if isKnown {
		return slices.Clone(known), nil
	}
	all, err := read()
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.notes == nil || k.moment != now {
		k.moment, k.notes = now, map[question][]chronicle.Note{}
	}
	k.notes[q] = all
	return slices.Clone(all), nil
}
