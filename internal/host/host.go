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
	// Conflicts names everything in a directory's configuration of the harness
	// that cannot work beside magicctx. nil finds nothing.
	Conflicts func(context.Context, schema.Harness, string) []config.Warning
	// RawHistory reads the harnesses' own stores for ctx_expand. Without it, ctx_expand
	// shows only messages that are in memory.
	RawHistory *rawhistory.Reader
	// Markers set compaction markers in the harnesses' own stores. A harness that is not
	// here gets none.
	Markers map[schema.Harness]Markers
	// CommitTimeout bounds the wait for another program's lock on the database;
	// 0 means one second. A pass whose decisions were not stored in time leaves
	// them to the next pass.
	CommitTimeout time.Duration
	// Summarises lets the historian run. A replay of a trace without recorded runs has no
	// historian.
	Summarises bool
	// Agents answers in place of the harness's hidden agents; nil asks the harness.
	Agents Agents
	// Taken is called after each stored pass that has added edits, with the number
	// of the pass and its edits. A replay uses it to show them; nil calls nothing.
	Taken func(session string, pass int, taken []pipeline.Taken)
}

// A Host answers the hooks of all harness processes of a user. Its methods are
// safe for concurrent use. Calls for the same session wait for each other.
type Host struct {
	Options
	sessions sessions
	revision atomic.Uint64
	// uses, lives and ratios are what was learned about the models.
	uses    experience[store.WindowRow]
	lives   experience[route.Learned]
	ratios  experience[store.TokenRatioRow]
	savings savings
	titles  titles
	docs    projectdocs.Reader
	errands errands
	// marking keeps the changes of compaction markers in order. noMarker is the reason why
	// none can be set, nil if there is no reason.
	marking  sync.Mutex
	noMarker atomic.Pointer[string]
	// sending counts the messages that are on their way to a harness.
	sending sync.WaitGroup
	// background counts the runs of the historian. lifetime ends them.
	background sync.WaitGroup
	lifetime   context.Context
	// summarising counts the runs of the historian that are under way, or that a pass has
	// put to the trigger.
	summarising atomic.Int64
	end         context.CancelFunc
	// agentRuns holds a token for each hidden agent that runs.
	agentRuns chan struct{}
	// trouble is the reason why the last write to the store failed. It is nil
	// while writing works.
	trouble atomic.Pointer[string]
	// isDamaged says that the write failed because the database is damaged.
	isDamaged atomic.Bool
	// damageTold says that a client was told about a damaged database.
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

// A client is the host's knowledge about one connection.
type client struct {
	harness schema.Harness
	opened  map[string][]config.Warning // by directory, the warnings about its configuration
	// limits are the models as this harness's catalogue has them.
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
	// A revision must not recur after a restart, or a shim could take the base
	// of another array for its own. Microseconds since 1970 stay below 2^53,
	// which JavaScript can represent.
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

// key returns the store's key for the session of a request.
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

// config returns the configuration of a directory as it was when a client last
// opened it.
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

// stored records for status whether the last write to the store succeeded.
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

// ChatMessage is not used yet. It leaves the message as it is.
func (h *Host) ChatMessage(context.Context, Client, schema.ChatMessageParams) (schema.ChatMessageResult, error) {
	return schema.ChatMessageResult{}, nil
}

// ToolBefore is not used yet. It leaves the arguments as they are.
func (h *Host) ToolBefore(context.Context, Client, schema.ToolBeforeParams) (schema.ToolBeforeResult, error) {
	return schema.ToolBeforeResult{}, nil
}
