package summary

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/agents/historian"
	"github.com/magicctx/magicctx-host/internal/agent"
	"github.com/magicctx/magicctx-host/internal/background"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/keyfiles"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/internal/notice"
	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/internal/projectdocs"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// A run summarises the oldest messages that no compartment covers, and publishes the result. The next pass that
// busts shows the result in the head (docs/history.md).

// passFacts are the facts about the newest pass that the historian needs. They are zero until the session's first
// pass in this process.
type passFacts struct {
	client    client.Client
	directory string
	config    schema.Config
	model     schema.Model
	price     schema.Price
	// limit is the prompt limit in the host's tokens, because the host counts the history in these tokens.
	limit     int
	threshold float64
	lowMark   float64
	// workingSet is the size of the working set in tokens: the newest messages, which stay verbatim.
	workingSet int
	// usage is the pressure after the pass, in percent of the limit. size is the size of the pass's prompt in
	// the host's tokens.
	usage float64
	size  int
	pass  int
}

type state struct {
	passFacts
	throttle history.Throttle
	isLoaded bool // whether throttle was read from the store
	// askedAt is the tag counter at the last check of whether a run should begin (history.Trigger).
	askedAt int
	// askedLevel is the level of usage at that check. If the level has risen since then, a bust is near. A run that
	// begins now may finish in time for that bust to show its compartment, so the host checks again at once.
	askedLevel history.Level
	// halvings is how often the size of the next chunk is halved after failed runs. It becomes 0 when a model's
	// compartment is published.
	halvings int
	running  *run
}

var states = session.NewLastingSlot[state]()

func stateOf(s *session.Session) *state { return states.Of(s) }

// Without pressure, the host checks only once per stepsBetween new units whether a run should begin. The check
// (history.Trigger) reads all messages that no compartment covers, so it would be too slow for every pass.
const stepsBetween = 8

// consider looks at the newest pass. If a run may be needed, it starts a background check of whether to begin one.
func (h *Historian) consider(ps *pass.Pass) {
	s := ps.Session
	if !h.summarises(ps) {
		return
	}
	w := stateOf(s)
	w.passFacts = factsOf(ps, ps.Client)
	counter := s.Pipe.State.TagCounter
	level := history.LevelOf(w.usage, w.threshold)
	isUrgent := w.usage >= history.ForceUsage || level > w.askedLevel
	w.askedLevel = min(w.askedLevel, level)
	if w.running != nil && w.running.yields && w.usage >= history.ForceUsage {
		w.running.cancel(errYielded) // a later pass checks again whether a run should begin
	}
	if w.running != nil || !isUrgent && counter < w.askedAt+stepsBetween {
		return
	}
	uncovered := s.Pipe.UncoveredTokens(s.Chronicle.CoveredEnd().Key)
	if history.RunCost(0, w.price) > w.runBudget(s) && history.IsSmall(uncovered, w.limit, w.threshold, w.usage) {
		return
	}
	w.askedAt, w.askedLevel = counter, level
	key, facts := s.Key, w.passFacts
	h.summarising.Add(1) // count the run before the answer is sent, so that a later status shows it
	h.Agents.Go(func() {
		defer h.summarising.Add(-1)
		h.summarise(key, facts)
	})
}

func (h *Historian) summarises(ps *pass.Pass) bool {
	return h.Summarises && !ps.Session.Mode().IsSubagent && !ps.Config.Historian.Disable
}

func factsOf(ps *pass.Pass, c client.Client) passFacts {
	r, d := ps.Readings, ps.Decision
	w := passFacts{
		client: c, directory: ps.Params.Directory, config: ps.Config, model: d.Model, price: r.Price,
		limit: r.Counting.Model.OwnTokens(r.LimitTokens), threshold: r.Threshold, lowMark: r.LowMark, usage: d.Percent, pass: ps.Session.Row.Passes, workingSet: r.WorkingSet,
	}
	size := d.Size.Current
	if d.Verdict != schema.Steady && size > 0 { // the bust removed these tokens, so they no longer add to the pressure
		left := max(0, size-d.Price.Removed)
		w.usage *= float64(left) / float64(size)
		size = left
	}
	w.size = r.Counting.Model.OwnTokens(size)
	if w.lowMark <= 0 {
		w.lowMark = r.Threshold / 2
	}
	return w
}

// A Historian summarises the old messages of sessions.
type Historian struct {
	Options
	docs    projectdocs.Reader
	files   keyfiles.Reader
	errands errands
	// summarising counts the runs, and the checks in the background that may begin a run.
	summarising atomic.Int64
}

type Options struct {
	Store      *store.Store
	Guard      *store.Guard
	Sessions   *session.Sessions
	Models     *model.Models
	Clients    *client.Registry
	Agents     *agent.Runner
	Background *background.Work
	Notices    *notice.Notices
	Publisher  Publisher
	Clock      clock.Clock
	Log        *slog.Logger
	// IndexDir is the directory of the index of messages. The index knows which files the sessions often read. If
	// IndexDir is "", as in a replay, the head shows no outlines of such files.
	IndexDir   string
	Summarises bool
}

// A Publisher sends a session's new state to the views of this session.
type Publisher interface {
	Publish(key store.Key)
}

func New(o Options) *Historian {
	return &Historian{Options: o, files: keyfiles.Reader{Clock: o.Clock}}
}

func (h *Historian) Feature() pass.Feature {
	return pass.Feature{
		Read: func(ctx context.Context, ps *pass.Pass, r *pipeline.Readings) {
			if h.summarises(ps) {
				r.WorkingSet = history.WorkingSet(ps.Config.Spending, r.Counting.Model.OwnTokens(r.LimitTokens), r.Threshold)
			}
			r.History = h.head(ctx, ps, *r)
		},
		Decided: func(ctx context.Context, ps *pass.Pass) {
			if err := h.rescue(ctx, ps); err != nil {
				h.Log.Warn("old history is not summarised, although the next prompt may not fit", "session", ps.Session.Key.Session, "error", err)
			}
		},
		Done: func(ctx context.Context, ps *pass.Pass) {
			h.rearrange(ctx, ps.Session)
			h.consider(ps)
		},
	}
}

// Runs returns the number of runs that are running or about to begin.
func (h *Historian) Runs() int { return int(h.summarising.Load()) }

// A run describes one run of the historian. It is created when the run is planned, so the run may not have begun yet.
type run struct {
	key     store.Key
	holder  string
	chunk   history.Chunk
	job     historian.Job
	demand  history.Demand
	grant   history.Grant
	after   store.HistoryEnd
	reason  history.TriggerReason
	started int64
	facts   passFacts
	// cancel ends the run. Its cause wraps context.Canceled.
	cancel context.CancelCauseFunc
	// isTakenBack means that the user has reverted messages that the run summarises, and that the store already knows it.
	// The run is about to end without a result.
	isTakenBack bool
	// summary is the key of the harness's own summary at the start of the array.
	summary string
	// filler covers messages that only the harness's own summary still describes. If it is not nil, it is published
	// before the run's compartments.
	filler *chronicle.Compartment
	// project is the identity of the project that gets the run's facts, or "".
	project string
	// kind is the kind of the run's record. "" means "incremental".
	kind string
	// yields means that an urgent run may replace this run.
	yields bool
}

// A prospect holds the facts that decide whether a run should begin. It never changes, so it can be read without the
// session's lock.
type prospect struct {
	passFacts
	uncovered pipeline.Uncovered
	trigger   history.TriggerFacts
	throttle  history.Throttle
	halvings  int
}

// summarise checks whether a run should begin. If so, it carries out the run. The check and the run may read much text,
// so summarise does not hold the session's lock meanwhile, and no pass has to wait.
func (h *Historian) summarise(key store.Key, facts passFacts) {
	ctx := h.Background.Lifetime()
	h.Sessions.FindProject(ctx, facts.directory)
	limit, err := h.historianLimit(ctx, &facts)
	if err != nil {
		return // the client has disconnected
	}
	about, err := h.prospect(ctx, key)
	if about == nil {
		h.cannotRun(key, err)
		return
	}
	p, err := about.run(key, limit)
	if p == nil {
		h.cannotRun(key, err)
		return
	}
	s, err := h.Sessions.Lock(ctx, key)
	if err != nil {
		return
	}
	may, err := h.begins(ctx, s, p, about)
	if !may {
		h.cannotRun(key, err)
		s.Unlock()
		return
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.cancel = cancel
	stateOf(s).running = p
	s.Unlock()

	h.Publisher.Publish(key)
	h.Log.Info("the historian begins", "session", key.Session, "pass", p.facts.pass, "cause", p.reason, "from", p.job.Chunk.Start, "to", p.job.Chunk.End)
	result, err := h.perform(running, p)
	h.finish(p, result, err)
}

func (h *Historian) cannotRun(key store.Key, err error) {
	if err != nil {
		h.Log.Warn("the historian cannot run", "session", key.Session, "error", err)
	}
}

// If no run can begin now, the prospect is nil.
func (h *Historian) prospect(ctx context.Context, key store.Key) (*prospect, error) {
	s, err := h.Sessions.Lock(ctx, key)
	if err != nil {
		return nil, nil // the host is stopping
	}
	defer s.Unlock()
	w := stateOf(s)
	if s.Pipe == nil || w.running != nil || w.client == nil {
		return nil, nil
	}
	if err := h.loadThrottle(ctx, s); err != nil {
		return nil, err
	}
	uncovered, ok := h.Sessions.Uncovered(ctx, s)
	if !ok {
		return nil, nil
	}
	commits := 0
	if trigger := w.config.CommitClusterTrigger; trigger.Enabled {
		commits = trigger.MinClusters
	}
	budget, price := w.runBudget(s), w.price
	return &prospect{w.passFacts, uncovered, history.TriggerFacts{
		Situation: w.situation(uncovered), MinClusters: commits, Count: tokens.Count,
		Pays:    func(tokens int) bool { return history.RunCost(tokens, price) <= budget },
		Waiting: history.WaitingDrops{Active: w.size, Going: s.Pipe.Leaving(s.Chronicle.Published())},
	}, w.throttle, w.halvings}, nil
}

// run plans the run that should begin now (history.Trigger), or returns nil if no run should begin. limit is the
// smallest prompt limit of the models that may be asked, in tokens.
func (o *prospect) run(key store.Key, limit int) (*run, error) {
	t := history.Trigger(o.trigger)
	if !t.Runs {
		return nil, nil
	}
	p := &run{key: key, reason: t.Reason, facts: o.passFacts, demand: history.Demand{
		Pass: o.pass, Snapshot: t.Snapshot, Room: int(float64(o.limit) * o.threshold / 100), LowMark: o.lowMark, Price: o.price.Fresh / 1e6,
	}}
	p.grant = o.throttle.Next(p.demand)
	if p.grant.Way == history.Wait {
		return p, nil
	}
	var err error
	p.chunk, err = readChunk(o.uncovered, t.Snapshot, history.ChunkBudget(limit)>>o.halvings)
	return p, err
}

// begins reports whether the planned run may begin. If so, it fills in the missing fields of the run, and takes the
// session's lease. It refuses the run if the throttle or the messages have changed since the run was planned.
func (h *Historian) begins(ctx context.Context, s *session.Session, p *run, about *prospect) (bool, error) {
	w := stateOf(s)
	if s.Pipe == nil || w.running != nil || w.throttle != about.throttle {
		return false, nil
	}
	now, ok := h.Sessions.Uncovered(ctx, s)
	if snapshot := p.demand.Snapshot; !ok || now.Covered != about.trigger.Covered || !now.Messages.Same(about.trigger.Messages, snapshot.Start, snapshot.End) {
		return false, nil // a later pass checks again
	}
	if p.grant.IsFault {
		h.Log.Warn("history has waited for many passes", "session", s.Key.Session, "pass", p.facts.pass, "cause", p.reason)
	}
	if p.grant.Way == history.Wait {
		w.throttle = w.throttle.Waits()
		return false, h.saveThrottle(ctx, s)
	}
	if err := h.Sessions.Enter(ctx, s, p.facts.directory); err != nil {
		return false, err
	}
	p.project = s.Row.Project
	p.job = h.job(s, p.chunk, now)
	p.job.CanWait = p.hasTime()
	p.job.KeepLast = p.job.KeepLast || p.reason == history.RunForRent // a run pays off only by the messages that it replaces
	p.holder, p.after, p.started, p.summary, p.filler = h.Agents.NewHolder(), s.Chronicle.End, h.Clock.Now(), s.Pipe.SummaryKey(), s.Filler()
	writing, cancel := h.Guard.Writing(ctx)
	defer cancel()
	if acquired, err := h.lease(p).Acquire(writing); err != nil || !acquired {
		return false, err
	}
	if p.grant.Way == history.ByModel {
		w.throttle = w.throttle.Begun(p.facts.pass, p.grant)
	}
	return true, h.saveThrottle(ctx, s)
}

func (w *passFacts) situation(u pipeline.Uncovered) history.Situation {
	return history.Situation{Messages: u.Messages, Covered: u.Covered, Limit: w.limit, WorkingSet: w.workingSet, Threshold: w.threshold, Usage: w.usage}
}

// runBudget returns how much a run for rent may cost. The unit is the price of reading one token from the cache. If no
// run may begin for rent, runBudget returns -1.
func (w *passFacts) runBudget(s *session.Session) int {
	if w.config.Spending == schema.SpendingGenerous {
		return -1
	}
	return s.Pipe.RunBudget(s.Chronicle.Published(), w.workingSet, w.price)
}

// perform carries out a run, and renews the lease until the run has ended.
func (h *Historian) perform(ctx context.Context, p *run) (historian.Result, error) {
	if p.grant.Way == history.Extractive {
		return historian.Extractive(p.job)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h.Background.Go(func() { h.lease(p).Keep(ctx, cancel) })
	p.job.Open = readPromises(ctx, h, p.key, p.project, math.MaxInt64)
	return historian.Run(ctx, p.job, portsOf(h.Agents, askerOf(h, p)))
}

func askerOf(h *Historian, p *run) agent.Asker {
	return agent.Asker{
		Runner: h.Agents, Harness: schema.Harness(p.key.Harness), Client: p.facts.client, Directory: p.facts.directory, Session: p.key.Session,
		Title: fmt.Sprintf("history %d-%d", p.job.Chunk.Start, p.job.Chunk.End), Lease: h.lease(p),
	}
}

func portsOf(r *agent.Runner, a ask.Asker) historian.Ports {
	return historian.Ports{Asker: a, Sleep: r.Sleep()}
}

func (h *Historian) lease(p *run) agent.Lease {
	return agent.Lease{Store: h.Store, Work: store.HistorianOf(p.key), Holder: p.holder}
}

func (h *Historian) finish(p *run, result historian.Result, runErr error) {
	ctx := context.WithoutCancel(h.Background.Lifetime())
	s, err := h.Sessions.Lock(ctx, p.key)
	if err != nil {
		return
	}
	defer s.Unlock()
	stateOf(s).running = nil
	writing, cancel := context.WithTimeout(ctx, finishTimeout)
	defer cancel()
	if runErr == nil && len(result.Compartments) == 0 && isOverBudget(result) {
		runErr = errOverBudget
	}
	if runErr == nil && len(result.Compartments) == 0 {
		runErr = fmt.Errorf("no model gave a usable summary: %s", problemOf(result))
		stateOf(s).halvings = nextHalving(stateOf(s).halvings, &result)
	}
	if runErr == nil {
		runErr = h.publishHistory(writing, s, p, result)
	}
	if runErr != nil {
		h.recordFailure(writing, s, p, result, runErr)
	}
	if p.grant.Way == history.ByModel && !isOverBudget(result) && (runErr != nil || result.MadeBy == chronicle.ByExtraction) {
		h.tellOfFailure(writing, p)
	}
	if err := h.lease(p).Release(writing); err != nil {
		h.Log.Warn("the historian's lease is not released", "session", p.key.Session, "error", err)
	}
	h.Publisher.Publish(s.Key)
}

// hasTime reports whether the host can ask a model again later if this run fails. Below the execute threshold there is
// time for that, and an extract would lose detail without need.
func (p *run) hasTime() bool {
	return p.grant.Way == history.ByModel && p.facts.usage < p.facts.threshold
}

// finishTimeout is long, because no user waits for this write, and the result has cost money.
const finishTimeout = 30 * time.Second

func (h *Historian) publishHistory(ctx context.Context, s *session.Session, p *run, result historian.Result) error {
	way, throttle := history.ByModel, stateOf(s).throttle
	publish := publication(p, result)
	if result.MadeBy == chronicle.ByExtraction {
		way = history.Extractive
		if p.grant.Way == history.ByModel {
			throttle = p.failed(throttle, result)
			if !isOverBudget(result) {
				publish.Problem, publish.Retry = problemOf(result), int64(throttle.RetryPass(p.demand))
			}
		}
	}
	if err := h.Store.History.Publish(ctx, publish); err != nil {
		h.Guard.Wrote(err)
		return err
	}
	h.Log.Info("history is published", "session", p.key.Session, "pass", p.facts.pass, "cause", p.reason,
		"compartments", len(result.Compartments), "to", result.Next-1, "madeBy", result.MadeBy, "model", result.Model, "fidelity", result.Fidelity(),
		"facts", len(result.Facts), "unconfirmed", result.Unconfirmed)
	stateOf(s).throttle = throttle.Published(way)
	stateOf(s).askedAt = 0 // more messages may be eligible after this publication
	if way == history.ByModel {
		stateOf(s).halvings = 0
	}
	if err := h.saveThrottle(ctx, s); err != nil {
		h.Log.Warn("the historian's pace is not stored", "session", p.key.Session, "error", err)
	}
	if s.Pipe == nil {
		return nil // the next resync reads the history anyway
	}
	return h.Sessions.RefreshChronicle(ctx, s)
}

// These are the kinds of runs in the stored records and in the status.
const (
	KindIncremental = "incremental"
	KindRecomp      = "recomp"
	KindPartial     = "partial"
	KindWrapUp      = "wrapup"
)
