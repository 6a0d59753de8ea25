package host

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// A Standby is a host whose store may be missing for a while: locked by another
// host, read-only, full, damaged, or of a newer schema. While it is missing the
// Standby answers that it is disabled and why; each initialize of a harness tries to open it
// again. So a host that cannot persist says so over its socket, and works again
// when the cause is gone, without a restart of anything.
type Standby struct {
	path  string // of the database
	log   *slog.Logger
	open  func(context.Context) (*Host, error)
	offer func(schema.InitializeParams) schema.InitializeResult

	// opening admits one attempt at a time. It is a channel because waiting for
	// it has to end with the context.
	opening chan struct{}

	mu     sync.RWMutex // calls of the host hold it for reading
	host   *Host        // nil while there is no store
	reason string       // why

	// clientsMu is apart from mu: a client that comes or goes waits for no call.
	clientsMu sync.Mutex
	clients   map[Client][]schema.InitializeParams
}

// StandbyOptions are what a Standby is built from.
type StandbyOptions struct {
	// Path is that of the database, for status.
	Path string
	Log  *slog.Logger
	// Open opens the store and returns a host over it. Its context ends when the
	// caller should not wait any longer.
	Open func(context.Context) (*Host, error)
	// Offer is what a host with a store would offer a client.
	Offer func(schema.InitializeParams) schema.InitializeResult
}

// NewStandby tries to open the store; that it cannot is no error.
func NewStandby(ctx context.Context, o StandbyOptions) *Standby {
	s := &Standby{
		path: o.Path, log: o.Log, open: o.Open, offer: o.Offer,
		opening: make(chan struct{}, 1), clients: map[Client][]schema.InitializeParams{},
	}
	s.tryOpen(ctx)
	return s
}

// openTimeout bounds the wait of an initialize for the store, which another
// program may hold locked: a user waits for the pass behind it. Where there is
// something to migrate the first attempt, which has no such bound, does it.
const openTimeout = 800 * time.Millisecond

// mendTimeout bounds the making of an empty database in the place of a damaged
// one: nobody else can hold it, but a slow disk has to take its whole schema.
const mendTimeout = 3 * time.Second

// Initialize opens the store if that is missing or failed, and then the directory.
func (s *Standby) Initialize(ctx context.Context, c Client, p schema.InitializeParams) (schema.InitializeResult, error) {
	s.remember(c, p)
	if p.Harness != "" { // who only asks for status wants to know what was
		opening, cancel := context.WithTimeout(ctx, openTimeout)
		defer cancel()
		s.tryOpen(opening)
	}

	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.host != nil {
		r, err := s.host.Initialize(ctx, c, p)
		if p.Harness != "" && err == nil {
			r.Warnings = append(r.Warnings, s.damage()...)
		}
		return r, err
	}
	r := blank()
	if p.Harness != "" {
		r = s.offer(p)
	}
	if p.Harness == "" || r.Enabled { // else it is off by the user's wish
		r.Enabled, r.Trouble, r.Reason = false, true, s.reason
	}
	return r, nil
}

// remember keeps what a client has opened, for the host that is yet to come.
func (s *Standby) remember(c Client, p schema.InitializeParams) {
	s.clientsMu.Lock()
	defer s.clientsMu.Unlock()
	isSame := func(q schema.InitializeParams) bool { return q.Directory == p.Directory }
	s.clients[c] = append(slices.DeleteFunc(s.clients[c], isSame), p)
}

// tryOpen opens the store unless it is open and takes what it is given. It
// returns when that is done or ctx is over.
func (s *Standby) tryOpen(ctx context.Context) {
	if s.works() {
		return
	}
	select {
	case s.opening <- struct{}{}:
		defer func() { <-s.opening }()
	case <-ctx.Done():
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.host != nil {
		if s.host.trouble.Load() == nil { // somebody else was faster
			return
		}
		// A damaged database is replaced, and a full disk may have room, only
		// when it is opened anew.
		s.closeStore()
	}
	h, err := s.open(ctx)
	if err != nil {
		if reason := err.Error() + remedy(err); reason != s.reason {
			s.reason = reason
			s.log.Error("no store, so magicctx is disabled until it can be opened", "cause", err)
		}
		return
	}
	s.host, s.reason = h, ""
	s.log.Info("store opened", "path", s.path)
	s.clientsMu.Lock()
	defer s.clientsMu.Unlock()
	for c, params := range s.clients {
		for _, p := range params {
			if _, err := h.Initialize(ctx, c, p); err != nil {
				s.log.Warn("directory not opened again", "directory", p.Directory, "cause", err)
			}
		}
	}
}

func (s *Standby) works() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.host != nil && s.host.trouble.Load() == nil
}

// remedy says what a person can do.
func remedy(err error) string {
	switch {
	case errors.Is(err, store.ErrLocked):
		return "; end that process"
	case errors.Is(err, store.ErrForeign):
		return "; move it away"
	case errors.Is(err, store.ErrBusy):
		return "; end the program that holds it"
	case errors.Is(err, store.ErrCannotPersist):
		return "; make room on the disk, or the directory writable"
	default:
		return "" // a newer schema says it itself
	}
}

// replaceDamaged opens the store anew, which moves a damaged database aside, and
// has c, whose pass met the damage, tell its user. If c cannot, whoever
// initializes next hears of it.
func (s *Standby) replaceDamaged(ctx context.Context, c Client, directory string) {
	opening, cancel := context.WithTimeout(ctx, mendTimeout)
	defer cancel()
	s.tryOpen(opening)
	s.mu.RLock()
	defer s.mu.RUnlock()
	h := s.host
	if h == nil {
		return
	}
	for _, notice := range s.damage() {
		params := schema.NotifyShowParams{Directory: directory, Title: "magicctx", Message: notice, Variant: "warning"}
		go func() { // the pass does not wait for it
			if err := c.Show(context.WithoutCancel(ctx), params); err != nil {
				s.log.Warn("notice not shown", "cause", err)
				h.damageTold.Store(false)
			}
		}()
	}
}

// damage tells, once, that an empty database has taken the place of a damaged
// one. The caller holds mu.
func (s *Standby) damage() []string {
	moved := s.host.Store.Recovered()
	if moved == "" || !s.host.damageTold.CompareAndSwap(false, true) {
		return nil
	}
	return []string{"magicctx's database was damaged. It was moved to " + moved + ", and an empty one took its place: what was dropped or summarised before is back in the prompts."}
}

// Close closes the store, after the calls under way.
func (s *Standby) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reason = "the host is stopping"
	s.closeStore()
}

func (s *Standby) closeStore() {
	if s.host == nil {
		return
	}
	if err := s.host.Store.Close(); err != nil {
		s.log.Error("closing the store", "cause", err)
	}
	s.host = nil
}

// Disconnected forgets a client.
func (s *Standby) Disconnected(c Client) {
	s.clientsMu.Lock()
	delete(s.clients, c)
	s.clientsMu.Unlock()
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.host != nil {
		s.host.Disconnected(c)
	}
}

// Status is that of the host, or says why there is none.
func (s *Standby) Status(ctx context.Context, c Client, p schema.StatusParams) (schema.StatusResult, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.host != nil {
		return s.host.Status(ctx, c, p)
	}
	return schema.StatusResult{
		Database: s.path, Reason: s.reason, Sessions: []schema.SessionStatus{}, MemoryBytes: residentBytes(),
		Warnings: []schema.Warning{{Source: "store", Message: s.reason}},
	}, nil
}
