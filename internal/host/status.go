package host

import (
	"context"
	"unicode/utf8"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// statusSessions bounds the sessions that a status lists, newest first.
const statusSessions = 50

// Status reports on the store and its sessions. It takes no session's lock, so it never waits for a pass.
func (h *Host) Status(ctx context.Context, _ client.Client, _ schema.StatusParams) (schema.StatusResult, error) {
	r := schema.StatusResult{
		Database: h.Store.Path(), StoreSchema: h.Store.SchemaVersion(), Enabled: true,
		Sessions: []schema.SessionStatus{}, Warnings: h.warnings(), MemoryBytes: residentBytes(),
		HistorianRuns: int(h.summarising.Load()),
	}
	if reason := h.guard.Trouble(); reason != "" {
		r.Enabled, r.Reason = false, reason
	}
	var err error
	if r.StoreBytes, err = h.Store.SizeOnDisk(); err != nil {
		return r, err
	}
	reports, known, err := h.Store.Report(ctx, statusSessions)
	if err != nil {
		return r, err
	}
	r.KnownSessions = known
	for _, report := range reports {
		r.Sessions = append(r.Sessions, h.statusOf(ctx, report))
	}
	r.Warnings = clipWarnings(append(historyWarnings(r.Sessions, h.Clock.Now()), r.Warnings...))
	r.Saved, err = h.saved(ctx)
	return r, err
}

// SessionStatus reports on one session. If the caller asks for the dropped units, it lists them too.
func (h *Host) SessionStatus(ctx context.Context, _ client.Client, p schema.SessionStatusParams) (schema.SessionStatus, error) {
	key := store.Key{Harness: string(p.Harness), Session: p.Session}
	report, found, err := h.Store.ReportOf(ctx, key)
	if err != nil {
		return schema.SessionStatus{}, err
	}
	if !found {
		return schema.SessionStatus{}, client.Invalid("session %q of %s is unknown", p.Session, p.Harness)
	}
	st := h.statusOf(ctx, report)
	if p.Dropped {
		st.DroppedUnits, err = h.droppedUnits(ctx, key)
	}
	return st, err
}

func (h *Host) statusOf(ctx context.Context, s store.SessionReport) schema.SessionStatus {
	st := schema.SessionStatus{
		Harness: schema.Harness(s.Key.Harness), Session: s.Key.Session, Mode: s.Mode,
		Directory: s.Directory, Parent: s.Parent,
		Model: schema.Model{Provider: s.Provider, ID: s.Model},
		Epoch: s.Epoch, Passes: s.Passes, Busts: s.Busts, LastPassAt: s.LastPassAt,
		InputTokens: s.PromptTokens, Units: s.Units, Dropped: s.Dropped, Queued: s.Queued,
		CacheRead: s.CacheRead, CacheWrite: s.CacheWrite, CacheFresh: s.InputTokens,
		CacheHitRate: hitRate(s.SessionRow), BustCauses: causeCounts(s.BustCauses), Tokens: tokensBySource(s), Title: s.Title,
		BindsThinking: s.Setup.Binds, LostThinkingBlocks: s.LostBlocks, LostThinkingTokens: s.LostTokens,
		LastPassMS: float64(h.sessions.LastPassDuration(s.Key).Microseconds()) / 1000,
		Head:       headStatus(s), History: historyStatus(s), Removals: h.removedBy(ctx, s.Key),
	}
	if st.History != nil {
		h.addWork(st.History, s)
	}
	if s.Last != nil {
		st.LastVerdict, st.LastCause, st.LastPassBust = schema.Verdict(s.Last.Verdict), s.Last.Cause, s.Last.Bust
		st.Messages = s.Last.Messages
		st.SizeTokens, st.GoalTokens = s.Last.SizeTokens, s.Last.GoalTokens
	}
	if p := s.Priced; p != nil {
		st.LastPrice = &schema.PricedPass{Pass: p.Pass, Cause: p.Cause, Bust: p.Bust, Price: schema.BustPrice(p.Price)}
	}
	if st.Model.ID == "" {
		st.Threshold = h.threshold(st)
		clip(&st)
		return st
	}
	facts := h.models.Facts(ctx, st.Model)
	st.ContextTokens, st.LimitSource, st.LimitAt = facts.Window.Tokens, facts.Window.Source, facts.Window.At
	cfg := h.clients.KnownConfig(st.Harness, st.Directory)
	b := h.models.CacheLife(ctx, s.Key.Harness, cfg, st.Model, facts.Row.NPM)
	st.Spending, st.Carried = cfg.Spending, carried(s.Rent, facts)
	st.CacheLifeMS, st.CacheRoute, st.CacheLifeSource, st.CacheLifeReason = b.Life.Milliseconds(), b.Route.Name, b.Source, b.Reason()
	if st.ContextTokens > 0 {
		st.Pressure = float64(st.InputTokens) / float64(st.ContextTokens)
	}
	st.Threshold = h.threshold(st)
	st.NextBust, st.LastBust = h.nextBust(st, s, facts), lastBust(s.Bust, facts)
	if facts.IsPriced {
		st.RereadCost = facts.RereadCost(st.Removals)
		var err error
		if st.Saved, err = h.savedIn(ctx, s.Key, s.Passes, facts, b.Route.Cliff); err != nil {
			h.Log.Warn("saving of a session not read", "session", s.Key.Session, "error", err)
		}
	}
	clip(&st)
	return st
}

// carried returns what a session carries although it could go, nil for nothing.
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

// A status has to fit into one frame. The names in it come from harnesses and catalogues and may be of any
// length. An older host also wrote longer names to the database than this one.
const (
	maxShownName     = 1 << 10
	maxShownPath     = 4 << 10
	maxShownWarnings = 50
)

// shorten returns text cut to at most limit bytes. It keeps whole characters, and appends a mark if it has
// cut something.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const mark = "…"
	end := limit - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}

// clip shortens the long names in a status.
func clip(st *schema.SessionStatus) {
	for _, name := range []*string{&st.Session, &st.Parent, &st.Model.Provider, &st.Model.ID, &st.LastCause, &st.Title} {
		*name = shorten(*name, maxShownName)
	}
	if st.LastBust != nil {
		st.LastBust.Cause = shorten(st.LastBust.Cause, maxShownName)
	}
	if st.History != nil {
		st.History.LastError = shorten(st.History.LastError, maxShownName)
	}
	st.Directory = shorten(st.Directory, maxShownPath)
}

func clipWarnings(all []schema.Warning) []schema.Warning {
	if len(all) > maxShownWarnings {
		all = all[:maxShownWarnings]
	}
	for i := range all {
		all[i].Directory = shorten(all[i].Directory, maxShownPath)
		all[i].Message = shorten(all[i].Message, maxShownPath)
	}
	return all
}

// Subscribe registers a client for the status of each matching session: after each pass, and as soon as the
// usage of the pass's answer is known.
func (h *Host) Subscribe(_ context.Context, c client.Client, p schema.SubscribeParams) (schema.Empty, error) {
	return schema.Empty{}, h.clients.Subscribe(c, p)
}

// publish sends the session's status to its subscribers. If there are no subscribers, it costs nothing.
func (h *Host) publish(key store.Key) {
	listeners := h.clients.Listeners(key.Harness, key.Session)
	if len(listeners) == 0 {
		return
	}
	report, found, err := h.Store.ReportOf(context.Background(), key)
	if err != nil || !found {
		return
	}
	st := h.statusOf(context.Background(), report)
	for _, c := range listeners {
		c.SessionChanged(st)
	}
}
