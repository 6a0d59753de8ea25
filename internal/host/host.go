package host

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// Options are what a host is built from.
type Options struct {
	Store *store.Store
	Clock clock.Clock
	Log   *slog.Logger
	// LoadConfig reads the configuration of a directory.
	LoadConfig func(schema.Harness, string) (schema.Config, []config.Warning)
	// CommitTimeout bounds the wait for another program's lock on the database;
	// 0 is a second. What is not stored in time is stored with the next pass.
	CommitTimeout time.Duration
}

// A Host answers the hooks of all harness processes of a user. Its methods are
// safe for concurrent use; those of one session must not be called at the same
// time, or they wait for each other.
type Host struct {
	Options
	sessions sessions
	revision atomic.Uint64
	uses     uses
	// sending is the messages on their way to a harness.
	sending sync.WaitGroup
	// trouble is why nothing could be stored last, nil while storing works.
	trouble atomic.Pointer[string]
	// isDamaged says that this is because of damage in the database.
	isDamaged atomic.Bool
	// damageTold says that a client heard of a damaged database.
	damageTold atomic.Bool

	mu          sync.Mutex
	clients     map[Client]*client
	configs     map[directory]schema.Config
	limits      map[schema.Model]schema.ModelLimits
	subscribers map[Client][]schema.SubscribeParams
}

// directory names a configuration.
type directory struct {
	harness schema.Harness
	path    string
}

// client is what the host knows of a connection.
type client struct {
	harness schema.Harness
	opened  map[string][]config.Warning // directories, with what is wrong with their configuration
}

// New returns a host over an open store.
func New(o Options) *Host {
	h := &Host{
		Options: o, clients: make(map[Client]*client), configs: make(map[directory]schema.Config),
		limits: make(map[schema.Model]schema.ModelLimits), subscribers: make(map[Client][]schema.SubscribeParams),
	}
	h.sessions.byKey = make(map[store.Key]*session)
	h.uses.known = make(map[schema.Model]store.WindowRow)
	// A revision must not recur after a restart: a shim could take the base of
	// another array for its own. Microseconds stay below JavaScript's 2^53.
	h.revision.Store(uint64(o.Clock.Now()) * 1000)
	return h
}

// Disconnected forgets a client.
func (h *Host) Disconnected(c Client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.clients, c)
	delete(h.subscribers, c)
}

// key names the session of a request.
func (h *Host) key(c Client, session string) (store.Key, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known, ok := h.clients[c]
	if !ok {
		return store.Key{}, invalid("initialize comes first")
	}
	if session == "" {
		return store.Key{}, invalid("session is empty")
	}
	return store.Key{Harness: string(known.harness), Session: session}, nil
}

// config returns the configuration of a directory, as read when a client
// last opened it.
func (h *Host) config(harness, path string) schema.Config {
	d := directory{schema.Harness(harness), path}
	h.mu.Lock()
	cfg, ok := h.configs[d]
	h.mu.Unlock()
	if ok {
		return cfg
	}
	cfg, _ = h.LoadConfig(d.harness, d.path)
	h.mu.Lock()
	h.configs[d] = cfg
	h.mu.Unlock()
	return cfg
}

// stored notes whether the store takes what it is given, for status.
func (h *Host) stored(err error) {
	switch {
	case err == nil:
		if h.trouble.Swap(nil) != nil {
			h.Log.Info("the store takes writes again")
		}
	case errors.Is(err, store.ErrCannotPersist):
		if errors.Is(err, store.ErrDamaged) {
			h.isDamaged.Store(true)
		}
		reason := err.Error() + remedy(err)
		if h.trouble.Swap(&reason) == nil {
			h.Log.Error("nothing can be stored, so sessions pass unchanged", "error", err)
		}
	}
}

// ChatMessage is not used yet: the message stays as it is.
func (h *Host) ChatMessage(context.Context, Client, schema.ChatMessageParams) (schema.ChatMessageResult, error) {
	return schema.ChatMessageResult{}, nil
}

// ToolBefore is not used yet: the arguments stay as they are.
func (h *Host) ToolBefore(context.Context, Client, schema.ToolBeforeParams) (schema.ToolBeforeResult, error) {
	return schema.ToolBeforeResult{}, nil
}
