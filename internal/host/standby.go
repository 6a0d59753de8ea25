package host

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/status"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// allCalls is the capacity of the semaphore Standby.gate. It is larger than the number of calls that can run at once,
// so a call never has to wait for another call.
const allCalls = 1 << 30

// closeTimeout is how long Close waits for calls that are still running. It is short, because the server has already
// waited for them, and nobody waits for their answers now.
const closeTimeout = 2 * time.Second

// When the store is closed, running agents have this long to end. If a run of the historian is cut off, a later process
// repeats it.
const runsTimeout = 2 * time.Second

// A Standby is a host whose store may be missing, for example because it is locked, full, damaged, or of a newer
// schema. While the store is missing, the Standby answers each call with the reason, and tries to open the store again
// whenever a harness calls initialize.
type Standby struct {
	path  string // the path of the database
	log   *slog.Logger
	open  func(context.Context) (*Host, error)
	offer func(schema.InitializeParams) schema.InitializeResult

	// The channel `opening` makes sure that only one call at a time tries to open the store. A mutex would not do, because
	// a caller must be able to stop waiting when its context ends.
	opening chan struct{}

	// gate guards host, reason and followed. Each call of the host takes one token, and opening or closing the store
	// takes all tokens. gate is a semaphore and not a mutex, because a call may hang forever: somebody who waits for
	// the gate must be able to give up when a context ends.
	gate   *semaphore.Weighted
	host   *Host  // nil while there is no store
	reason string // why there is no store
	// While the store is closed, `followed` keeps the subscriptions that the host had, so that the next host gets them.
	followed map[client.Client][]schema.SubscribeParams

	// clientsMu guards clients. It is separate from gate, so that clients can connect or disconnect during calls.
	clientsMu sync.Mutex
	clients   map[client.Client][]schema.InitializeParams
}

type StandbyOptions struct {
	Path string
	Log  *slog.Logger
	// Open must return when its context ends.
	Open  func(context.Context) (*Host, error)
	Offer func(schema.InitializeParams) schema.InitializeResult
}

// A store that cannot be opened is not an error.
func NewStandby(ctx context.Context, o StandbyOptions) *Standby {
	s := &Standby{
		path: o.Path, log: o.Log, open: o.Open, offer: o.Offer,
		opening: make(chan struct{}, 1), gate: semaphore.NewWeighted(allCalls), clients: map[client.Client][]schema.InitializeParams{},
	}
	s.tryOpen(ctx)
	return s
}

// openTimeout is short. Initialize tries to open the store, and a user's request waits for it. If another program holds
// the database's lock, the user should not wait long. A migration may take longer, but the first attempt, when the host
// starts, has no timeout.
const openTimeout = 800 * time.Millisecond

// mendTimeout bounds the time for replacing a damaged database with an empty one. No other program locks the new file,
// but a slow disk needs time to write the whole schema.
const mendTimeout = 3 * time.Second

// If the store is missing or has failed, Initialize opens it. Then it opens the directory for the client.
func (s *Standby) Initialize(ctx context.Context, c client.Client, p schema.InitializeParams) (schema.InitializeResult, error) {
	s.remember(c, p)
	if p.Harness != "" { // a client that only shows status wants to see the failure and must not repair it
		opening, cancel := context.WithTimeout(ctx, openTimeout)
		defer cancel()
		s.tryOpen(opening)
	}

	if err := s.gate.Acquire(ctx, 1); err != nil {
		return schema.InitializeResult{}, waited(err)
	}
	defer s.gate.Release(1)
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
	if p.Harness == "" || r.Enabled { // if this is false, the user's configuration disables magicctx
		r.Enabled, r.Trouble, r.Reason = false, true, s.reason
	}
	return r, nil
}

// remember stores the directories that a client has opened. If the store is opened later, the new host needs them.
func (s *Standby) remember(c client.Client, p schema.InitializeParams) {
	s.clientsMu.Lock()
	defer s.clientsMu.Unlock()
	isSame := func(q schema.InitializeParams) bool { return q.Directory == p.Directory }
	s.clients[c] = append(slices.DeleteFunc(s.clients[c], isSame), p)
}

// tryOpen returns after the attempt, or when ctx ends.
func (s *Standby) tryOpen(ctx context.Context) {
	if s.works(ctx) {
		return
	}
	select {
	case s.opening <- struct{}{}:
		defer func() { <-s.opening }()
	case <-ctx.Done():
		return
	}
	if err := s.gate.Acquire(ctx, allCalls); err != nil {
		s.log.Warn("the store is not opened anew while a call is running", "cause", waited(err))
		return
	}
	defer s.gate.Release(allCalls)
	if s.host != nil {
		if s.host.guard.Trouble() == "" { // another call has already opened the store again
			return
		}
		// After a failure, the host can work again only after its store was closed and opened: opening replaces a
		// damaged database, and notices that a full disk has space again.
		s.closeStore()
	}
	h, err := s.open(ctx)
	if err != nil {
		if reason := store.Reason(err); reason != s.reason {
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
		for _, p := range s.followed[c] {
			if err := h.clients.Subscribe(c, p); err != nil {
				s.log.Warn("session not followed again", "session", p.Session, "cause", err)
			}
		}
	}
}

func (s *Standby) works(ctx context.Context) bool {
	if err := s.gate.Acquire(ctx, 1); err != nil {
		return false
	}
	defer s.gate.Release(1)
	return s.host != nil && s.host.guard.Trouble() == ""
}

// replaceDamaged opens the store again, which moves the damaged database aside and creates an empty one. Client c,
// whose pass found the damage, then tells the user. If c cannot, the next client that initializes tells the user.
func (s *Standby) replaceDamaged(ctx context.Context, c client.Client, directory string) {
	opening, cancel := context.WithTimeout(ctx, mendTimeout)
	defer cancel()
	s.tryOpen(opening)
	if err := s.gate.Acquire(ctx, 1); err != nil {
		return
	}
	defer s.gate.Release(1)
	h := s.host
	if h == nil {
		return
	}
	for _, notice := range s.damage() {
		params := schema.NotifyShowParams{Directory: directory, Title: "magicctx", Message: notice, Variant: "warning"}
		go func() { // in a goroutine, so that the pass does not wait for it
			if err := c.Show(context.WithoutCancel(ctx), params); err != nil {
				s.log.Warn("notice not shown", "cause", err)
				h.damageTold.Store(false)
			}
		}()
	}
}

// damage returns the notice that an empty database has replaced a damaged one. Only the first call returns it, so that
// the user sees it once. The caller holds the gate.
func (s *Standby) damage() []string {
	moved := s.host.Store.Recovered()
	if moved == "" || !s.host.damageTold.CompareAndSwap(false, true) {
		return nil
	}
	return []string{"magicctx's database was damaged. It was moved to " + moved + ", and an empty one took its place: what was dropped or summarised before is back in the prompts."}
}

// Close waits for the running calls, and then closes the store. If a call does not return, Close leaves the store open.
// The process is about to end anyway, and then the system releases the store's lock.
func (s *Standby) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.gate.Acquire(ctx, allCalls); err != nil {
		s.log.Error("the store is left open, because a call is still running", "cause", waited(err))
		return
	}
	defer s.gate.Release(allCalls)
	s.reason = "the host is stopping"
	s.closeStore()
}

func waited(err error) error { return fmt.Errorf("wait for running calls: %w", err) }

func (s *Standby) closeStore() {
	if s.host == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), runsTimeout)
	defer cancel()
	s.host.Stop(ctx)
	s.followed = s.host.clients.Subscriptions()
	if err := s.host.Store.Close(); err != nil {
		s.log.Error("closing the store", "cause", err)
	}
	s.host = nil
}

// Current returns the host. Its store stays open until the caller calls `release`. If there is no store, `err` says
// why.
func (s *Standby) Current(ctx context.Context) (h *Host, release func(), err error) {
	if err := s.gate.Acquire(ctx, 1); err != nil {
		return nil, nil, waited(err)
	}
	if s.host == nil {
		defer s.gate.Release(1)
		return nil, nil, client.Disabled(s.reason)
	}
	return s.host, func() { s.gate.Release(1) }, nil
}

// If the pass finds that the database is damaged, Transform replaces the database and runs the pass again. The new host
// does not have the messages to which the shim's delta refers, so it asks the shim for the whole session (a resync).
func (s *Standby) Transform(ctx context.Context, c client.Client, p schema.TransformParams) (schema.WireMutation, error) {
	m, damaged, err := s.transform(ctx, c, p)
	if damaged {
		s.replaceDamaged(ctx, c, p.Directory)
		m, _, err = s.transform(ctx, c, p)
	}
	return m, err
}

func (s *Standby) transform(ctx context.Context, c client.Client, p schema.TransformParams) (m schema.WireMutation, damaged bool, err error) {
	h, release, err := s.Current(ctx)
	if err != nil {
		return m, false, err
	}
	defer release()
	m, err = h.Transform(ctx, c, p)
	return m, err != nil && h.guard.IsDamaged(), err
}

func (s *Standby) Disconnected(c client.Client) {
	s.clientsMu.Lock()
	delete(s.clients, c)
	s.clientsMu.Unlock()
	// This needs no timeout. Acquire waits only while the store is being opened, and that attempt has a timeout of its
	// own.
	if err := s.gate.Acquire(context.Background(), 1); err != nil {
		return
	}
	defer s.gate.Release(1)
	if s.host != nil {
		s.host.Disconnected(c)
	}
}

func (s *Standby) Status(ctx context.Context, c client.Client, p schema.StatusParams) (schema.StatusResult, error) {
	if err := s.gate.Acquire(ctx, 1); err != nil {
		return schema.StatusResult{}, waited(err)
	}
	defer s.gate.Release(1)
	if s.host != nil {
		return s.host.Status(ctx, c, p)
	}
	return schema.StatusResult{
		Database: s.path, Reason: s.reason, Sessions: []schema.SessionStatus{}, MemoryBytes: status.ResidentBytes(),
		Warnings: []schema.Warning{{Source: "store", Message: s.reason}},
	}, nil
}
