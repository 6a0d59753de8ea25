package memories

import (
	"slices"
	"sync"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// A moment is a time in Unix seconds, together with the number of this process's writes. A value that was read at the
// same moment is still current. So a write of another process is noticed only in the next second.
type moment struct{ second, writes int64 }

func (s *Memories) now() moment { return moment{s.db.Clock.Now() / 1000, s.db.MemoryWrites.Load()} }

// kept caches the notes that were read at a moment, because each pass asks for the same notes.
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

// notes returns the answer to a question. At each moment, it calls read only once.
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
