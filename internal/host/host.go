package host

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/magicctx/magicctx-host/internal/agent"
	"github.com/magicctx/magicctx-host/internal/background"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/internal/projectdocs"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/session"
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
	// Cassette answers in place of the harness's hidden agents; nil asks the harness.
	Cassette agent.Cassette
	// Taken is called after each stored pass that has added edits. It gets the number of the pass and the
	// edits. A replay uses it to show them. If it is nil, nothing is called.
	Taken func(session string, pass int, taken []pipeline.Taken)
}

// A Host answers the hooks of all harness processes of a user. Its methods are
// safe for concurrent use. Calls for the same session wait for each other.
type Host struct {
	Options
	guard    *store.Guard
	clients  *client.Registry
	models   *model.Models
	sessions *session.Sessions
	savings  savings
	titles   titles
	docs     projectdocs.Reader
	errands  errands
	// marking keeps the changes of compaction markers in order. noMarker is the reason why the last change of
	// a marker failed, or nil.
	marking    sync.Mutex
	noMarker   atomic.Pointer[string]
	background *background.Work
	serial     *clock.Serial
	agents     *agent.Runner
	// summarising counts the runs of the historian: those under way, and those for which a pass has just
	// asked the trigger.
	summarising atomic.Int64
	// damageTold says that some client has already been told about a damaged database.
	damageTold atomic.Bool
}

// New returns a host over an open store.
func New(o Options) *Host {
	h := &Host{
		Options: o, guard: store.NewGuard(o.Log, cmp.Or(o.CommitTimeout, commitTimeout)), clients: client.NewRegistry(o.LoadConfig),
		background: background.New(), serial: clock.NewSerial(o.Clock),
	}
	h.models = model.New(model.Options{Store: o.Store, Guard: h.guard, Clients: h.clients, Clock: o.Clock, Log: o.Log})
	h.agents = agent.NewRunner(agent.Options{Clients: h.clients, Background: h.background, Serial: h.serial, Log: o.Log, Cassette: o.Cassette})
	h.sessions = session.New(session.Options{
		Store: o.Store, Guard: h.guard, Clock: o.Clock, Log: o.Log, RawHistory: o.RawHistory,
		Copied: []func(context.Context, *session.Session, store.Key) error{h.copyNudge},
	})
	h.savings.known = make(map[store.Key]saving)
	h.titles.stored = make(map[store.Key]string)
	return h
}

// Stop ends the work in the background, and waits for it until ctx ends.
func (h *Host) Stop(ctx context.Context) { h.background.Stop(ctx) }

// Agents returns the runner of the hidden agents.
func (h *Host) Agents() *agent.Runner { return h.agents }

// Disconnected forgets a client.
func (h *Host) Disconnected(c client.Client) {
	h.clients.Forget(c)
}

// key returns the store's key for a client's session.
func (h *Host) key(c client.Client, session string) (store.Key, error) {
	harness, err := h.clients.Harness(c)
	if err != nil {
		return store.Key{}, err
	}
	if session == "" {
		return store.Key{}, client.Invalid("session is empty")
	}
	return store.Key{Harness: harness, Session: session}, nil
}
