package host

import (
	"context"
	"sync"

	"github.com/magicctx/magicctx-host/store"
)

// maxTitleRunes bounds a stored title. The harnesses limit their own titles to 100 characters.
const maxTitleRunes = 200

// titles caches the stored titles, because a harness reports the title with every change of a session.
type titles struct {
	mu     sync.Mutex
	stored map[store.Key]string
}

func (t *titles) forget(key store.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.stored, key)
}

// noteTitle stores the title that the harness shows for a session. A session without a pass is not in the
// store yet. A later event stores its title.
func (h *Host) noteTitle(ctx context.Context, key store.Key, title string) error {
	if title == "" {
		return nil
	}
	if runes := []rune(title); len(runes) > maxTitleRunes {
		title = string(runes[:maxTitleRunes])
	}
	h.titles.mu.Lock()
	defer h.titles.mu.Unlock()
	if h.titles.stored[key] == title {
		return nil
	}
	writing, cancel := h.guard.Writing(ctx)
	defer cancel()
	isKnown, err := h.Store.SaveTitle(writing, key, title)
	if err == nil && isKnown {
		h.titles.stored[key] = title
	}
	return err
}
