package status

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/embedding"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/internal/notice"
	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/internal/summary"
	"github.com/magicctx/magicctx-host/internal/words"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/work"
)

// Statuses describe the host and its sessions to people.
type Statuses struct {
	Options
	savings savings
	Titles  titles
	// `waiting` contains the sessions whose status is about to be sent.
	waiting sync.Map
	// `publishing` is held while a status is read and sent, so that an older status never follows a newer one.
	publishing sync.Mutex
	// `sent` contains, for each session, the time of its newest status, so that statuses are at least publishEvery
	// apart. Older times are removed. Only the holder of `publishing` may use the map.
	sent map[store.Key]time.Time
}

const (
	// publishEvery is the minimum time between two statuses of a session. The steps of a turn can follow each other
	// faster than a person can read.
	publishEvery = 250 * time.Millisecond
	// After a call has unlocked the session, its answer needs this time to leave the host.
	answerTime = 10 * time.Millisecond
	// longestWait bounds the wait for a call that works on the session, because the call may never return.
	longestWait = time.Second
)

type Options struct {
	Store    *store.Store
	Guard    *store.Guard
	Sessions *session.Sessions
	Models   *model.Models
	Clients  *client.Registry
	Clock    clock.Clock
	Log      *slog.Logger
	// Markers returns the reason why the last change of a compaction marker failed, or "".
	Markers func() string
	History *summary.Historian
	Notices *notice.Notices
	// Budget returns the reason why a hidden agent does no work today, or nil.
	Budget func(work.Work) *schema.BudgetStop
	// Dream describes the dreamer's work on a project, or returns nil.
	Dream func(ctx context.Context, cfg schema.Config, project string) *schema.DreamStatus
	// Sidekick describes the sidekick's work for a session, or returns nil.
	Sidekick func(store.Key) *schema.SidekickStatus
	Embedder embedding.Embedder
}

func New(o Options) *Statuses {
	return &Statuses{Options: o, sent: make(map[store.Key]time.Time), savings: savings{known: make(map[store.Key]saving)}, Titles: titles{stored: make(map[store.Key]string)}}
}

func (sb *Statuses) Feature() pass.Feature {
	return pass.Feature{Done: func(_ context.Context, ps *pass.Pass) {
		sb.tellOfBust(ps)
		sb.tellOfPrompt(ps)
		sb.Publish(ps.Session.Key)
	}}
}

const statusSessions = 50

// Status takes no session's lock, so it never waits for a pass.
func (sb *Statuses) Status(ctx context.Context) (schema.StatusResult, error) {
	r := schema.StatusResult{
		Database: sb.Store.Path(), StoreSchema: sb.Store.SchemaVersion(), Enabled: true,
		Sessions: []schema.SessionStatus{}, Warnings: sb.warnings(), MemoryBytes: ResidentBytes(),
		HistorianRuns: sb.History.Runs(), Embedding: sb.Embedder.Status(ctx),
	}
	if reason := sb.Guard.Trouble(); reason != "" {
		r.Enabled, r.Reason = false, reason
	}
	var err error
	if r.StoreBytes, err = sb.Store.SizeOnDisk(); err != nil {
		return r, err
	}
	reports, known, err := sb.Store.Reports.All(ctx, statusSessions)
	if err != nil {
		return r, err
	}
	r.KnownSessions = known
	for _, report := range reports {
		r.Sessions = append(r.Sessions, sb.statusOf(ctx, report))
	}
	r.Warnings = clipWarnings(append(historyWarnings(r.Sessions, sb.Clock.Now()), r.Warnings...))
	r.Saved, err = sb.saved(ctx)
	return r, err
}

// If the caller asks for the dropped units, Session also lists the kept units.
func (sb *Statuses) Session(ctx context.Context, p schema.SessionStatusParams) (schema.SessionStatus, error) {
	key := store.Key{Harness: string(p.Harness), Session: p.Session}
	report, found, err := sb.Store.Reports.Of(ctx, key)
	if err != nil {
		return schema.SessionStatus{}, err
	}
	if !found {
		return schema.SessionStatus{}, client.Invalid("session %q of %s is unknown", p.Session, p.Harness)
	}
	st := sb.shown(ctx, report)
	if p.Columns > 0 {
		units, summarised, err := sb.returnable(ctx, key, st.Head)
		if err != nil {
			return st, err
		}
		st.Screen = words.Screen(st, units, summarised, p.Columns)
	}
	if p.Dropped {
		if st.DroppedUnits, err = sb.droppedUnits(ctx, key); err == nil {
			st.KeptUnits, err = sb.Kept(ctx, key)
		}
	}
	return st, err
}

// The method `shown` adds the panel for the harness's own screen.
func (sb *Statuses) shown(ctx context.Context, s store.SessionReport) schema.SessionStatus {
	st, now := sb.statusOf(ctx, s), sb.Clock.Now()
	var err error
	if st.Memories, st.Notes, err = sb.Store.Memories.Counts(ctx, s.Key.Harness, s.Key.Session, s.Project, now); err != nil {
		sb.Log.Warn("memories of a session not counted", "session", s.Key.Session, "error", err)
	}
	var problems []string
	for _, w := range sb.warnings() {
		if w.Directory == "" || w.Directory == st.Directory {
			problems = append(problems, format.Shorten(w.Message, maxShownName))
		}
	}
	st.Panel = words.Panel(st, problems, time.UnixMilli(now))
	if cfg := sb.Clients.KnownConfig(st.Harness, st.Directory); cfg.Widget {
		st.Panel.Widget = words.Widget(st.Panel)
	}
	return st
}

func (sb *Statuses) statusOf(ctx context.Context, s store.SessionReport) schema.SessionStatus {
	st := schema.SessionStatus{
		Harness: schema.Harness(s.Key.Harness), Session: s.Key.Session, Mode: s.Mode,
		Directory: s.Directory, Parent: s.Parent,
		Model: schema.Model{Provider: s.Provider, ID: s.Model},
		Epoch: s.Epoch, Passes: s.Passes, Busts: s.Busts, LastPassAt: s.LastPassAt,
		InputTokens: s.PromptTokens, RawTokens: s.RawTokens, Units: s.Units, Dropped: s.Dropped, Queued: s.Queued,
		CacheRead: s.CacheRead, CacheWrite: s.CacheWrite, CacheFresh: s.InputTokens,
		CacheHitRate: hitRate(s.SessionRow), BustCauses: s.BustCauses, LastPrice: s.Priced, Tokens: tokensBySource(s, sb.Sessions.Thinking(s.Key)), Title: s.Title,
		BindsThinking: s.Setup.Binds, LostThinkingBlocks: s.LostBlocks, LostThinkingTokens: s.LostTokens,
		LastPassMS: float64(sb.Sessions.LastPassDuration(s.Key).Microseconds()) / 1000,
		Head:       headStatus(s), History: historyStatus(s), Removals: sb.removedBy(ctx, s.Key), Recalled: s.Recalled,
	}
	if st.History != nil {
		sb.addWork(st.History, s)
	}
	cfg := sb.Clients.KnownConfig(st.Harness, st.Directory)
	if s.Project != "" {
		st.Dream = sb.Dream(ctx, cfg, s.Project)
	}
	st.Sidekick = sb.Sidekick(s.Key)
	if s.Last != nil {
		st.LastVerdict, st.LastCause, st.LastPassBust = schema.Verdict(s.Last.Verdict), s.Last.Cause, s.Last.Bust
		st.Messages = s.Last.Messages
		st.SizeTokens, st.GoalTokens = s.Last.SizeTokens, s.Last.GoalTokens
		if !words.KnowsOldSize(s.Last.Cause) {
			st.SizeTokens -= s.Last.Price.Removed
		}
	}
	if p := st.LastPrice; p != nil && !words.KnowsOldSize(p.Cause) {
		st.LastPrice = nil
	}
	if st.Model.ID == "" {
		st.Threshold = sb.threshold(st)
		clip(&st)
		return st
	}
	facts, window := sb.Models.Facts(ctx, st.Model), sb.Models.Window(ctx, st.Model, s.LimitTokens)
	st.ContextTokens, st.LimitSource, st.LimitAt = window.Tokens, window.Source, window.At
	b := sb.Models.CacheLife(ctx, s.Key.Harness, cfg, st.Model, facts.Row.NPM)
	st.Spending, st.Carried = cfg.Spending, carried(s.Rent, facts)
	st.CacheLifeMS, st.CacheRoute, st.CacheLifeSource, st.CacheLifeReason = b.Life.Milliseconds(), b.Route.Name, b.Source, b.Reason()
	if st.ContextTokens > 0 {
		st.Pressure = float64(st.InputTokens) / float64(st.ContextTokens)
	}
	st.Threshold = sb.threshold(st)
	st.NextBust, st.LastBust = sb.nextBust(st, s, facts), lastBust(s.Bust, facts)
	if facts.IsPriced {
		st.RereadCost = facts.RereadCost(st.Removals)
		var err error
		if st.Saved, err = sb.savedIn(ctx, s.Key, s.Passes, facts, window, b.Route.Cliff); err != nil {
			sb.Log.Warn("saving of a session not read", "session", s.Key.Session, "error", err)
		}
	}
	clip(&st)
	return st
}

// If a session's prompt has no removable content, the result is nil.
func carried(r store.RentState, f model.Facts) *schema.Carried {
	if r.Removable <= 0 {
		return nil
	}
	c := &schema.Carried{Tokens: r.Removable, Paid: r.Paid, Price: r.Price}
	if f.IsPriced {
		c.Cost = float64(r.Paid) * f.Price.Read / model.TokensPerPrice
	}
	return c
}

// A status must fit into one frame. Its names come from harnesses and catalogues, and may be of any length. The
// database may also have names from an older host, which stored longer names.
const (
	maxShownName     = 1 << 10
	maxShownPath     = 4 << 10
	maxShownWarnings = 50
)

func clip(st *schema.SessionStatus) {
	for _, name := range []*string{&st.Session, &st.Parent, &st.Model.Provider, &st.Model.ID, &st.LastCause, &st.Title} {
		*name = format.Shorten(*name, maxShownName)
	}
	if st.LastBust != nil {
		st.LastBust.Cause = format.Shorten(st.LastBust.Cause, maxShownName)
	}
	if st.History != nil {
		st.History.LastError = format.Shorten(st.History.LastError, maxShownName)
	}
	st.Directory = format.Shorten(st.Directory, maxShownPath)
}

func clipWarnings(all []schema.Warning) []schema.Warning {
	if len(all) > maxShownWarnings {
		all = all[:maxShownWarnings]
	}
	for i := range all {
		all[i].Directory = format.Shorten(all[i].Directory, maxShownPath)
		all[i].Message = format.Shorten(all[i].Message, maxShownPath)
	}
	return all
}

// Publish sends the session's status to its subscribers, in the background. It waits until the current call is
// answered, so that views do not slow the session's requests. It also waits if the last status was sent less than
// publishEvery ago, and then sends all changes until now in a single status. If there are no subscribers, Publish does
// nothing.
func (sb *Statuses) Publish(key store.Key) {
	if _, isWaiting := sb.waiting.Load(key); isWaiting || len(sb.Clients.Listeners(key.Harness, key.Session)) == 0 {
		return
	}
	if _, isWaiting := sb.waiting.LoadOrStore(key, true); !isWaiting {
		sb.Notices.Background.Go(func() { sb.publish(key) })
	}
}

func (sb *Statuses) publish(key store.Key) {
	ctx := sb.Notices.Background.Lifetime()
	pause(ctx, sb.rest(key))
	sb.Sessions.AwaitIdle(ctx, key, longestWait)
	pause(ctx, answerTime)
	if ctx.Err() != nil {
		return
	}
	sb.publishing.Lock()
	defer sb.publishing.Unlock()
	sb.waiting.Delete(key)
	sb.sent[key] = time.Now()
	report, found, err := sb.Store.Reports.Of(ctx, key)
	if err != nil || !found {
		return
	}
	encoded, err := json.Marshal(sb.shown(ctx, report))
	if err != nil {
		sb.Log.Error("status not sent", "session", key.Session, "error", err)
		return
	}
	for _, c := range sb.Clients.Listeners(key.Harness, key.Session) {
		c.SessionChanged(encoded)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (sb *Statuses) rest(key store.Key) time.Duration {
	sb.publishing.Lock()
	defer sb.publishing.Unlock()
	maps.DeleteFunc(sb.sent, func(_ store.Key, at time.Time) bool { return time.Since(at) >= publishEvery })
	at, isRecent := sb.sent[key]
	if !isRecent {
		return 0
	}
	return publishEvery - time.Since(at)
}

func (sb *Statuses) removedBy(ctx context.Context, key store.Key) []schema.Removal {
	all, err := sb.Store.Reports.Removals(ctx, key)
	if err != nil {
		sb.Log.Warn("removals of a session not read", "session", key.Session, "error", err)
	}
	for i := range all {
		all[i].Rule, all[i].Cause = format.Shorten(all[i].Rule, maxShownName), format.Shorten(all[i].Cause, maxShownName)
	}
	return all
}
