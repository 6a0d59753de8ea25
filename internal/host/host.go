package host

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/magicctx/magicctx-host/internal/agent"
	"github.com/magicctx/magicctx-host/internal/background"
	"github.com/magicctx/magicctx-host/internal/budget"
	"github.com/magicctx/magicctx-host/internal/checks"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/dream"
	"github.com/magicctx/magicctx-host/internal/embedding"
	"github.com/magicctx/magicctx-host/internal/indexing"
	"github.com/magicctx/magicctx-host/internal/learn"
	"github.com/magicctx/magicctx-host/internal/marking"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/internal/notice"
	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/internal/project"
	"github.com/magicctx/magicctx-host/internal/prompt"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/recall"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/internal/status"
	"github.com/magicctx/magicctx-host/internal/summary"
	"github.com/magicctx/magicctx-host/internal/tool"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

type Options struct {
	Store      *store.Store
	Clock      clock.Clock
	Log        *slog.Logger
	LoadConfig func(schema.Harness, string) (schema.Config, []config.Warning)
	// DisabledAt returns the place ("file:line") of the setting that switches magicctx off for a directory. DisabledAt
	// may be nil.
	DisabledAt func(schema.Harness, string) string
	// Conflicts returns warnings about settings of the harness that cannot work together with magicctx. If another
	// plugin rewrites the same messages, `competitor` is a sentence about it. In that case, the host leaves all
	// messages alone, and gives this sentence as the reason. Conflicts may be nil.
	Conflicts func(context.Context, schema.Harness, string) (all []config.Warning, competitor string)
	// Identify returns the project of a directory, which may take seconds (project.Identify). If Identify is nil, as
	// in a replay, each directory is its own project.
	Identify func(ctx context.Context, directory string) (string, error)
	// If RawHistory is nil, ctx_expand shows only messages in memory.
	RawHistory *rawhistory.Reader
	// IndexDir is "" in a replay, which has no index.
	IndexDir string
	// Embeds looks up an environment variable, like os.Getenv. The host needs the variables to find the user's
	// configuration files, which may name an embedding service. If Embeds is nil, as in a replay, there are no vectors.
	Embeds func(string) string
	// A harness without an entry gets no compaction markers.
	Markers map[schema.Harness]marking.Markers
	// CommitTimeout bounds the wait for another program's lock on the database. 0 means one second.
	CommitTimeout time.Duration
	// Summarises switches the historian on. It is false in a replay of a trace without recorded runs of the historian.
	Summarises bool
	Dreams     bool
	// If OnBattery is nil, the host assumes mains power.
	OnBattery func(context.Context) bool
	Cassette  agent.Cassette
	// The host calls Taken after it has stored a pass that added edits, so that a replay can show these edits. Taken
	// may be nil.
	Taken func(session string, pass int, taken []pipeline.Taken)
}

// A Host's methods are safe for concurrent use. Calls for the same session wait for each other.
type Host struct {
	Options
	guard      *store.Guard
	clients    *client.Registry
	models     *model.Models
	sessions   *session.Sessions
	background *background.Work
	serial     *clock.Serial
	governor   *budget.Governor
	agents     *agent.Runner
	prompts    *prompt.Prompts
	learner    *learn.Learner
	history    *summary.Historian
	markers    *marking.Keeper
	status     *status.Statuses
	index      *indexing.Keeper
	recaller   *recall.Recaller
	checks     *checks.Tester
	dreamer    *dream.Dreamer
	passes     *pass.Engine
	tools      *tool.Tools
	// damageTold is true after some client was told about a damaged database.
	damageTold atomic.Bool
}

func New(o Options) *Host {
	h := &Host{
		Options: o, guard: store.NewGuard(o.Log, cmp.Or(o.CommitTimeout, commitTimeout)), clients: client.NewRegistry(o.LoadConfig),
		background: background.New(), serial: clock.NewSerial(o.Clock),
	}
	h.models = model.New(model.Options{Store: o.Store, Guard: h.guard, Clients: h.clients, Clock: o.Clock, Log: o.Log})
	h.governor = budget.New(budget.Options{
		Store: o.Store, Models: h.models, Clients: h.clients, Clock: o.Clock, Log: o.Log, Zone: time.Local, Unlimited: o.Cassette != nil,
	})
	h.agents = agent.NewRunner(agent.Options{
		Clients: h.clients, Background: h.background, Serial: h.serial, Log: o.Log, Cassette: o.Cassette,
		Ledger: h.governor,
	})
	h.sessions = session.New(session.Options{
		Store: o.Store, Guard: h.guard, Clock: o.Clock, Log: o.Log, RawHistory: o.RawHistory,
		Projects: project.New(project.Options{Identify: o.Identify, Found: h.adopt}),
	})
	var embeddings *embedding.Source
	if o.Embeds != nil {
		embeddings = &embedding.Source{Env: o.Embeds, Failed: func(err error) { o.Log.Info("a search uses words only", "error", err) }}
	}
	told := notice.New(h.background, o.Log)
	h.prompts = prompt.New(prompt.Options{Store: o.Store, Guard: h.guard, Sessions: h.sessions, Models: h.models, Clients: h.clients, Clock: o.Clock, Log: o.Log})
	h.learner = learn.New(learn.Options{Store: o.Store, Guard: h.guard, Sessions: h.sessions, Models: h.models, Clients: h.clients, Clock: o.Clock, Log: o.Log})
	h.markers = marking.New(marking.Options{Store: o.Store, Sessions: h.sessions, Background: h.background, Log: o.Log, Markers: o.Markers})
	h.status = status.New(status.Options{
		Store: o.Store, Guard: h.guard, Sessions: h.sessions, Models: h.models, Clients: h.clients, Clock: o.Clock, Log: o.Log,
		Markers: h.markers.Why, Notices: told, Budget: h.governor.Stopped, Embedder: embedding.Embedder{Dir: o.IndexDir, Source: embeddings},
	})
	h.history = summary.New(summary.Options{
		Store: o.Store, Guard: h.guard, Sessions: h.sessions, Models: h.models, Clients: h.clients, Agents: h.agents, Background: h.background,
		Notices: told, Publisher: h.status, Clock: o.Clock, Log: o.Log, IndexDir: o.IndexDir, Summarises: o.Summarises,
	})
	h.status.History = h.history
	h.index = indexing.NewKeeper(indexing.Options{Dir: o.IndexDir, Sessions: h.sessions, Background: h.background, Embeddings: embeddings, Log: o.Log})
	h.recaller = recall.New(recall.Options{Dir: o.IndexDir, Store: o.Store, Guard: h.guard, Background: h.background, Clock: o.Clock, Log: o.Log})
	h.checks = checks.New(checks.Options{Store: o.Store, Guard: h.guard, Background: h.background, Clock: o.Clock, IndexDir: o.IndexDir, Log: o.Log})
	// A new feature needs a row here.
	features := []pass.Feature{
		h.learner.Feature(),
		h.history.Feature(),
		h.prompts.Feature(),
		h.recaller.Feature(),
		h.markers.Feature(),
		h.status.Feature(),
		h.index.Feature(),
		h.checks.Feature(),
	}
	for _, f := range features {
		if f.Copied != nil {
			h.sessions.Copied = append(h.sessions.Copied, f.Copied)
		}
	}
	h.passes = pass.New(pass.Options{
		Store: o.Store, Guard: h.guard, Sessions: h.sessions, Models: h.models, Clients: h.clients, Serial: h.serial, Clock: o.Clock, Log: o.Log,
		Features: features, Taken: o.Taken,
	})
	h.dreamer = dream.New(dream.Options{
		Store: o.Store, Sessions: h.sessions, Clients: h.clients, Agents: h.agents, Background: h.background, Checks: h.checks, Notices: told, Publish: h.status.Publish,
		Stopped: h.governor.Stopped, Worst: h.governor.Worst, OnBattery: o.OnBattery, Clock: o.Clock, Zone: time.Local, Log: o.Log,
	})
	h.status.Dream = h.dreamer.Status
	if o.Dreams {
		go h.dreamer.Watch(h.background.Lifetime())
	}
	h.tools = tool.New(tool.Options{
		Store: o.Store, Guard: h.guard, Sessions: h.sessions, Models: h.models, Clients: h.clients, Passes: h.passes, History: h.history,
		Statuses: h.status, Dreamer: h.dreamer, Agents: h.agents, Background: h.background, Notices: told, Attach: h.prompts.Attach,
		IndexDir: o.IndexDir, Embeddings: embeddings, Clock: o.Clock, Log: o.Log,
	})
	h.status.Sidekick = h.tools.Sidekick
	return h
}

func (h *Host) adopt(ctx context.Context, directory, identity string) error {
	writing, cancel := h.guard.Writing(ctx)
	defer cancel()
	err := h.Store.Memories.Adopt(writing, directory, project.OfDirectory(directory), identity)
	h.guard.Wrote(err)
	return err
}

// Stop ends the work in the background, and waits for it until ctx ends.
func (h *Host) Stop(ctx context.Context) {
	h.background.Stop(ctx)
	h.recaller.Close()
}

func (h *Host) Agents() *agent.Runner { return h.agents }

func (h *Host) Disconnected(c client.Client) {
	h.clients.Forget(c)
}

func (h *Host) Transform(ctx context.Context, c client.Client, p schema.TransformParams) (schema.WireMutation, error) {
	key, err := h.key(c, p.Session)
	if err != nil {
		return schema.WireMutation{}, err
	}
	return h.passes.Transform(ctx, c, key, p)
}

func (h *Host) System(ctx context.Context, c client.Client, p schema.SystemParams) (schema.SystemResult, error) {
	key, err := h.key(c, p.Session)
	if err != nil {
		return schema.SystemResult{}, err
	}
	return h.prompts.System(ctx, c, key, p)
}

func (h *Host) ToolExecute(ctx context.Context, c client.Client, p schema.ToolExecuteParams) (schema.ToolExecuteResult, error) {
	key, err := h.key(c, p.Session)
	if err != nil {
		return schema.ToolExecuteResult{}, err
	}
	return h.tools.Run(ctx, key, p)
}

// A client that is not a harness, for example a terminal, names a harness in p. The host then runs the command as if
// a shim of that harness had sent it, because the command may need the harness's models and agents.
func (h *Host) CommandExecute(ctx context.Context, c client.Client, p schema.CommandExecuteParams) (schema.CommandExecuteResult, error) {
	if p.Harness != "" {
		shims := h.clients.WithOpen(p.Harness, p.Directory, c)
		own, err := h.clients.Harness(c)
		if isOther := err == nil && own != string(p.Harness); isOther || len(shims) == 0 || !h.clients.KnownConfig(p.Harness, p.Directory).Enabled {
			return schema.CommandExecuteResult{}, client.Invalid("magicctx does not work in this directory now")
		}
		c = shims[0]
	}
	key, err := h.key(c, p.Session)
	if err != nil {
		return schema.CommandExecuteResult{}, err
	}
	return h.tools.Execute(ctx, c, key, p)
}

func (h *Host) Keep(ctx context.Context, _ client.Client, p schema.KeepParams) (schema.KeepResult, error) {
	return h.tools.Keep(ctx, p)
}

// Status takes no session's lock, so it never waits for a pass.
func (h *Host) Status(ctx context.Context, _ client.Client, _ schema.StatusParams) (schema.StatusResult, error) {
	return h.status.Status(ctx)
}

func (h *Host) SessionStatus(ctx context.Context, _ client.Client, p schema.SessionStatusParams) (schema.SessionStatus, error) {
	return h.status.Session(ctx, p)
}

// After Subscribe, the client gets the status of each matching session after each pass, and again when the provider has
// reported the usage of the answer.
func (h *Host) Subscribe(_ context.Context, c client.Client, p schema.SubscribeParams) (schema.Empty, error) {
	return schema.Empty{}, h.clients.Subscribe(c, p)
}

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

// commitTimeout bounds the wait for another program's lock on the database. It is short, because the user is waiting
// for the pass. If the pass cannot store its decisions, the next pass makes them again.
const commitTimeout = time.Second
