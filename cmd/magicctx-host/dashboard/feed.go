package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// A feed serves any number of tabs of the browser.
type feed struct {
	mu     sync.Mutex
	newest []byte
	// `changed` is closed when `newest` is replaced.
	changed chan struct{}
}

func newFeed(ctx context.Context, follow func(context.Context, func(State))) *feed {
	f := &feed{newest: []byte(`{"away":"looking for the host"}`), changed: make(chan struct{})}
	go follow(ctx, func(s State) {
		if s.Status != nil { // whose sessions belong to follow
			all := slices.Clone(s.Status.Sessions)
			for i := range all {
				st := &all[i]
				st.Panel = panelOf(*st)
				st.Title = format.Clean(cmp.Or(st.Title, st.Session)) // the address of the page needs the id as it is
				st.Model.ID, st.Directory = format.Clean(st.Model.ID), format.Clean(st.Directory)
			}
			s.Status = &schema.StatusResult{Sessions: all, KnownSessions: s.Status.KnownSessions, Warnings: s.Status.Warnings}
		}
		encoded, err := json.Marshal(s)
		if err != nil {
			encoded, _ = json.Marshal(State{Away: err.Error()})
		}
		f.put(encoded)
	})
	return f
}

func (f *feed) put(encoded []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if string(encoded) == string(f.newest) {
		return
	}
	close(f.changed)
	f.newest, f.changed = encoded, make(chan struct{})
}

func (f *feed) get() ([]byte, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.newest, f.changed
}

// serve sends each new state as a server-sent event. A slow browser tab may miss a state, but not the newest.
func (f *feed) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	// The server's ReadTimeout would end this connection after 10 seconds. The zero time removes the limit.
	if err := http.NewResponseController(w).SetReadDeadline(time.Time{}); err != nil {
		return
	}
	for {
		newest, changed := f.get()
		if _, err := fmt.Fprintf(w, "data: %s\n\n", newest); err != nil {
			return
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}
