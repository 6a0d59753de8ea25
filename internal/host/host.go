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
	"github.com/magicctx/magicctx-host/internal/projectdocs"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// Options configure a host.
type Options struct {
	Store *store.Store
	Clock clock.Clock
	Log   *slog.Logger
	// LoadConfig reads the configuration of a directory.
	LoadConfig func(schema.Harness, string) (schema.Config, []config.Warning)
	// DisabledAt returns the place, as file:line, that switches magicctx off for a directory. It may be nil.
	DisabledAt func(schema.Harness, string) string
	// Conflicts lists the settings of the harness in a directory that cannot work beside magicctx. If one of
	// them is another plugin that rewrites the same messages, the host stands down for the directory, and
	// competitor is the reason. If Conflicts is nil, the host looks for none.
	Conflicts func(context.Context, schema.Harness, string) (all []config.Warning, competitor string)
	// RawHistory reads the harnesses' own stores for ctx_expand. Without it, ctx_expand
	// shows only messages that are in memory.
	RawHistory *rawhistory.Reader
	// Markers set compaction markers in the harnesses' own stores. If the map has no entry for a harness,
	// that harness gets no markers.
	Markers map[schema.Harness]Markers
	// CommitTimeout bounds the wait for another program's lock on the database. 0 means one second. If a
	// pass's decisions were not stored in time, the next pass makes them again.
	CommitTimeout time.Duration
	// Summarises switches the historian on. A replay of a trace without recorded runs leaves it off.
	Summarises bool
	// Agents answers in place of the harness's hidden agents; nil asks the harness.
	Agents Agents
	// Taken is called after each stored pass that has added edits. It gets the number of the pass and the
	// edits. A replay uses it to show them. If it is nil, nothing is called.
	Taken func(session string, pass int, taken []pipeline.Taken)
}

// A Host answers the hooks of all harness processes of a user. Its methods are
// safe for concurrent use. Calls for the same session wait for each other.
type Host struct {
	Options
	sessions sessions
	revision atomic.Uint64
	// uses, lives and ratios cache the experience with models.
	uses    experience[store.WindowRow]
	lives   experience[route.Learned]
	ratios  experience[store.TokenRatioRow]
	savings savings
	titles  titles
	docs    projectdocs.Reader
	errands errands
	// marking keeps the changes of compaction markers in order. noMarker is the reason why the last change of
	// a marker failed, or nil.
	marking  sync.Mutex
	noMarker atomic.Pointer[string]
	// background counts the work in the background, for example runs of the historian. The
	// work ends when lifetime ends.
	background sync.WaitGroup
	lifetime   context.Context
	// summarising counts the runs of the historian: those under way, and those for which a pass has just
	// asked the trigger.
	summarising atomic.Int64
	end         context.CancelFunc
	// agentRuns holds a token for each hidden agent that runs.
	agentRuns chan struct{}
	// trouble is the reason why the last write to the store failed. It is nil if the last write succeeded.
	trouble atomic.Pointer[string]
	// isDamaged says that the last write failed because the database is damaged.
	isDamaged atomic.Bool
	// damageTold says that some client has already been told about a damaged database.
	damageTold atomic.Bool

	// mu guards clients with their fields, configs and subscribers.
	mu          sync.Mutex
	clients     map[Client]*client
	configs     map[directory]schema.Config
	subscribers map[Client][]schema.SubscribeParams
}

// A directory identifies a configuration.
type directory struct {
	harness schema.Harness
	path    string
}

// A client holds the host's facts about one connection.
type client struct {
	harness schema.Harness
	opened  map[string][]config.Warning // by directory, the warnings about its configuration
	// limits holds the limits of each model as this harness's catalogue reported them.
	limits map[schema.Model]schema.ModelLimits
	// keptWarm is how long the harness keeps idle prefixes warm.
	keptWarm time.Duration
}

// New returns a host over an open store.
func New(o Options) *Host {
	h := &Host{
		Options: o, clients: make(map[Client]*client), configs: make(map[directory]schema.Config),
		subscribers: make(map[Client][]schema.SubscribeParams), agentRuns: make(chan struct{}, maxAgentRuns),
	}
	h.lifetime, h.end = context.WithCancel(context.Background())
	h.sessions.byKey = make(map[store.Key]*session)
	h.savings.known = make(map[store.Key]saving)
	h.titles.stored = make(map[store.Key]string)
	// A revision must not occur again after a restart. Otherwise a shim could mistake another array for the
	// base it holds. Microseconds since 1970 stay below 2^53, which JavaScript can represent exactly.
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

// harness returns the harness of a client.
func (h *Host) harness(c Client) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known, ok := h.clients[c]
	if !ok {
		return "", invalid("initialize comes first")
	}
	return string(known.harness), nil
}

// key returns the store's key for a client's session.
func (h *Host) key(c Client, session string) (store.Key, error) {
	harness, err := h.harness(c)
	if err != nil {
		return store.Key{}, err
	}
	if session == "" {
		return store.Key{}, invalid("session is empty")
	}
	return store.Key{Harness: harness, Session: session}, nil
}

// config returns the configuration of a directory as a client last loaded it.
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

// stored remembers for status whether the last write to the store succeeded.
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
