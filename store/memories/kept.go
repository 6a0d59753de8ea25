package memories

import (
	"slices"
	"sync"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// A moment is a second (Unix time) together with the number of writes that this process had made. As long as both are
// the same, a cached value counts as current. If another process writes, the cache may be stale until the second ends.
type moment struct{ second, writes int64 }

func (s *Memories) now() moment { return moment{s.db.Clock.Now() / 1000, s.db.MemoryWrites.Load()} }

// kept caches notes, because each pass asks the same questions. All cached notes were read at the same moment.
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

// notes returns the answer to a question. It takes the answer from the cache if that was filled at the same moment. If
// not, it calls read and stores the result.
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
