package status

import (
	"context"
	"sync"

	"github.com/magicctx/magicctx-host/store"
)

// The harnesses limit their own titles to 100 characters.
const maxTitleRunes = 200

// titles remembers which titles are stored. A harness reports the title with every change of a session, so without this
// cache, the host would store the same title again and again.
type titles struct {
	mu     sync.Mutex
	stored map[store.Key]string
}

func (t *titles) Forget(key store.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.stored, key)
}

// NoteTitle stores the title of a session. A session without a pass is not in the store yet. In this case, NoteTitle
// does nothing, and a later event stores the title.
func (sb *Statuses) NoteTitle(ctx context.Context, key store.Key, title string) error {
	if title == "" {
		return nil
	}
	if runes := []rune(title); len(runes) > maxTitleRunes {
		title = string(runes[:maxTitleRunes])
	}
	sb.Titles.mu.Lock()
	defer sb.Titles.mu.Unlock()
	if sb.Titles.stored[key] == title {
		return nil
	}
	writing, cancel := sb.Guard.Writing(ctx)
	defer cancel()
	isKnown, err := sb.Store.SaveTitle(writing, key, title)
	if err == nil && isKnown {
		sb.Titles.stored[key] = title
	}
	return err
}
