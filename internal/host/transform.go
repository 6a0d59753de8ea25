package host

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/magicctx/magicctx-host/internal/bug"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// Transform runs one pass: it reads the new part of the transcript, decides, renders, commits, and answers
// with the changes that the client lacks. If it returns an error, it discards everything that the pass did,
// and the client uses its last good mutation.
func (h *Host) Transform(ctx context.Context, c client.Client, p schema.TransformParams) (schema.WireMutation, error) {
	var none schema.WireMutation
	key, err := h.key(c, p.Session)
	if err != nil {
		return none, err
	}
	s, err := h.sessions.Lock(ctx, key)
	if err != nil {
		return none, err
	}
	defer h.sessions.Trim()
	defer s.Unlock()
	done := false
	defer func() { // this also runs if the pass panics, because the next pass must not continue half a pass
		if !done {
			s.Forget()
		}
	}()
	pass, err := h.begin(ctx, c, s, p)
	if errors.Is(err, client.ErrResync) {
		done = true
	}
	if err != nil {
		return none, err
	}
	covered := s.Pipe.State.Head.Ordinal
	if err := pass.run(ctx); err != nil {
		return none, err
	}
	done = true
	h.tellOfBust(c, pass, covered)
	h.tellOfPrompt(c, pass)
	h.rearrange(ctx, s)
	answer := pass.answer()
	h.considerMarker(pass)
	h.considerHistorian(c, pass)
	s.LastPass.Store(time.Since(pass.started).Microseconds())
	h.publish(s.Key)
	if p.Base == 0 && len(p.Messages) > largeResyncBytes {
		time.AfterFunc(afterResync, debug.FreeOSMemory)
	}
	return answer, nil
}

// A resync leaves garbage of several times its size. The host may then wait minutes for a model. So it
// returns that memory to the system after the harness has its answer.
const (
	largeResyncBytes = 4 << 20
	afterResync      = 200 * time.Millisecond
)

// pass holds the state of one running pass.
type pass struct {
	h       *Host
	s       *session.Session
	started time.Time
	at      int64
	params  schema.TransformParams
	config  schema.Config
	limits  schema.ModelLimits
	window  model.Window
	life    route.Belief
	fresh   []frozen.Unit

	readings pipeline.Readings
	decision pipeline.Decision
	wire     pipeline.Wire
}

// begin brings the session's transcript up to date.
func (h *Host) begin(ctx context.Context, c client.Client, s *session.Session, p schema.TransformParams) (*pass, error) {
	started := time.Now()
	isResync := p.Base == 0
	if !isResync && (s.Pipe == nil || s.Revision != p.Base || p.Keep > s.Pipe.Len()) {
		return nil, client.ErrResync
	}
	if isResync && p.Keep != 0 {
		return nil, client.Invalid("keep is %d without a base", p.Keep)
	}
	var messages json.Array // only this call validates the JSON
	if err := json.Unmarshal(p.Messages, &messages); err != nil {
		return nil, client.Invalid("attachment of %s: %v", schema.MethodTransform, err)
	}
	ps := &pass{h: h, s: s, started: started, at: h.Clock.Now(), params: p, config: h.clients.Config(s.Key.Harness, p.Directory)}
	if isResync {
		if err := h.resync(ctx, s, p, ps.config, messages); err != nil {
			return nil, err
		}
		s.Bytes.Store(0)
	}
	s.Bytes.Add(int64(len(p.Messages)))
	ps.fresh = s.Pipe.Update(p.Keep, messages, p.Sent)
	noteRereads(s)
	if p.Model != nil {
		s.Pipe.AskModel(*p.Model)
	}
	if err := ended(ctx, "read the transcript"); err != nil {
		return nil, err
	}
	var err error
	if ps.limits, err = h.models.Limits(ctx, c, p.Directory, s.Pipe.Model()); err != nil {
		return nil, err
	}
	ps.window = h.models.Window(ctx, s.Pipe.Model(), ps.limits)
	if usage, _, ok := s.Pipe.Answer(); ok { // the event with this usage may be lost
		writing, cancel := h.guard.Writing(ctx)
		h.guard.Wrote(h.notePause(writing, s, s.Pipe.Meta.Model, usage))
		cancel()
	}
	*pauses.Of(s) = nil
	h.guard.Wrote(h.learnRatio(ctx, s))
	ps.life = h.models.CacheLife(ctx, s.Key.Harness, ps.config, s.Pipe.Model(), ps.limits.NPM)
	return ps, nil
}

// resync prepares the session for a whole array. It loads the session from the store, because the state in
// memory may be missing, or half changed after a crash.
func (h *Host) resync(ctx context.Context, s *session.Session, p schema.TransformParams, cfg schema.Config, messages []json.Value) error {
	codec, err := client.CodecOf(s.Key.Harness)
	if err != nil {
		return err
	}
	snap, err := h.sessions.Load(ctx, s)
	if err != nil {
		h.guard.Wrote(err)
		return err
	}
	s.Row.Directory, s.Row.Parent = p.Directory, p.Parent
	if s.Row.Passes == 0 {
		s.Row.Mode = session.ModeOf(codec, messages, p.Parent != "", cfg.CtxReduceEnabled).String()
	}
	if s.Chronicle, err = h.sessions.ReadChronicle(ctx, s.Key, p.Directory); err != nil {
		h.guard.Wrote(err)
		return err
	}
	if snap.Head != nil {
		s.Chronicle.HeadGeneration = snap.Head.Generation
	}
	s.Inherited = nil
	if s.Row.Passes == 0 && p.Parent == "" && len(messages) > 1 {
		return h.sessions.BuildCopy(ctx, s, snap, codec, messages)
	}
	s.Build(snap, codec)
	return nil
}

// run decides, renders and commits.
func (ps *pass) run(ctx context.Context) error {
	pipe := ps.s.Pipe
	ps.readings = ps.read(ctx)
	ps.decision = pipe.Decide(ps.readings)
	if err := ps.rescue(ctx); err != nil {
		ps.h.Log.Warn("old history is not summarised, although the next prompt may not fit", "session", ps.s.Key.Session, "error", err)
	}
	if err := ended(ctx, "decide"); err != nil {
		return err
	}
	ps.nudge(ctx)
	ps.render(ps.decision)
	if err := ended(ctx, "render"); err != nil {
		return err
	}
	if hits := ps.validate(ps.wire); len(hits) > 0 {
		ps.h.Log.Error("the wire breaks a rule of the provider", "session", ps.s.Key.Session, "rule", hits[0].Rule, "message", hits[0].Message, "hits", len(hits))
		ps.retreat(pipeline.CauseInvalidWire)
		if hits = ps.validate(pipe.RenderAnew(ps.decision)); len(hits) > 0 {
			return fmt.Errorf("wire breaks rule %s at message %s", hits[0].Rule, hits[0].Message)
		}
	}
	if err := ended(ctx, "validate"); err != nil {
		return err
	}
	err := ps.commit(ctx)
	ps.h.guard.Wrote(err)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", store.ErrBusy, err)
	}
	switch {
	case errors.Is(err, store.ErrCannotPersist):
		return client.Disabled(err.Error() + store.Remedy(err))
	case errors.Is(err, store.ErrBusy):
		// The provider must not see an edit that is not stored. But the user should not wait for another
		// program's lock. So the pass becomes steady and answers.
		ps.h.Log.Warn("pass not stored, the database is busy", "session", ps.s.Key.Session, "error", err)
		ps.keepUnits()
		s := ps.s
		s.IsUnstored = true
		ps.retreat(pipeline.CauseBusy)
		s.Pipe.Sent(ps.wire)
		s.Pipe.Meta.Gauge = ps.decision.Gauge
		s.WireTokens = ps.wire.Tokens
		return nil
	}
	return err
}

// ended returns an error if ctx has ended during a step. Deciding, rendering and validating only compute, so
// nothing else would notice it. The client has already stopped waiting for this pass, but the session's next
// call waits for the pass to return.
func ended(ctx context.Context, step string) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", step, context.Cause(ctx))
}

// keepUnits remembers the new units for the next pass that can store them. The model is about to see their
// tags, so no other unit may get these tags.
func (ps *pass) keepUnits() {
	s := ps.s
	if len(ps.fresh) == 0 {
		return
	}
	s.Unsaved = append(s.Unsaved, ps.fresh...)
	if err := ps.h.Store.KeepWaiting(s.Key, session.RowsFromUnits(s.Unsaved)); err != nil {
		ps.h.Log.Error("new tags are remembered in memory only", "session", s.Key.Session, "error", err)
	}
}

// read collects the current facts, once for each pass.
func (ps *pass) read(ctx context.Context) pipeline.Readings {
	m, limit := ps.s.Pipe.Model(), ps.window.Tokens
	percent, _ := config.Threshold(ps.config, m.Provider, m.ID, limit)
	profile := render.ProfileOf(m.Provider, ps.limits.NPM)
	r := pipeline.Readings{
		Now: ps.at, LimitTokens: limit, Threshold: percent, LowMark: ps.config.LowMarkPercentage,
		TTL:            ps.life.Life,
		Route:          ps.life.Route,
		Subagent:       ps.s.Mode().IsSubagent,
		Flush:          ps.s.Row.ExplicitFlush,
		Overflow:       ps.isOverflow(),
		OverflowTokens: ps.s.Row.OverflowTokens,
		Counting:       ps.counting(ctx),
		Price:          ps.life.Route.Price(ps.limits.Price),
		BuysForRent:    ps.config.Spending != schema.SpendingGenerous,
		Profile:        profile.Name,
		Binds:          bindsThinking(ps.config, profile, m),
		Gaps:           ps.config.TemporalAwareness,
		SystemPending:  ps.s.Row.System.Pending,
		SystemIsNew:    ps.s.IsSystemNew(),
		SystemIsOld:    ps.s.IsSystemOld(ps.at),
		Knobs:          knobs(ctx, ps.config, ps.s.Mode(), ps.params.Directory),
	}
	r.Knobs.IsRegretted = ps.isRegretted(ctx)
	if ps.summarises() {
		r.WorkingSet = history.WorkingSet(ps.config.Spending, r.Counting.Model.OwnTokens(limit), percent)
	}
	r.History = ps.history(ctx, r)
	return r
}

// bindsThinking reports whether the model binds its thinking to everything before it. The configuration
// decides. If it is silent, the model's id decides.
func bindsThinking(cfg schema.Config, profile render.Profile, m schema.Model) bool {
	switch config.PreservedThinking(cfg, m.Provider, m.ID) {
	case "on":
		return true
	case "off":
		return false
	}
	return profile.BindsThinking(m.ID)
}

// isOverflow reports whether the newest prompt was refused as too long. A later answer proves that the
// prompts fit again. Its event clears the session's overflow, but that event may be lost, so isOverflow also
// looks at the array.
func (ps *pass) isOverflow() bool {
	at := ps.s.Row.OverflowAt
	return at > 0 && model.IsLater(at, ps.s.Pipe.AnsweredAt(), ps.at) && !ps.isRefusedGone()
}

// isRefusedGone reports whether the user has since taken back the refused prompt. Then the refusal says
// nothing about the current prompt.
func (ps *pass) isRefusedGone() bool {
	row, pipe := &ps.s.Row, ps.s.Pipe
	return row.OverflowAt > 0 && (pipe.HasLostGauge() || row.OverflowPass == row.Passes && pipe.TookBack())
}

func (ps *pass) render(d pipeline.Decision) {
	ps.wire = ps.s.Pipe.Render(d)
	if ps.wire.Err != nil {
		bug.Reportf(ps.h.Log, "patch of session %s: %v", ps.s.Key.Session, ps.wire.Err)
	}
	if ps.wire.BustCause == pipeline.BustUnexplained {
		bug.Reportf(ps.h.Log, "unexplained bust in session %s, pass %d", ps.s.Key.Session, ps.s.Row.Passes+1)
	}
}

// retreat turns the pass into a steady one.
func (ps *pass) retreat(cause pipeline.Cause) {
	ps.decision = ps.decision.Steady(cause)
	ps.wire = ps.s.Pipe.Render(ps.decision)
}

func (ps *pass) validate(w pipeline.Wire) []render.Violation {
	return render.Validate(render.ProfileNamed(w.Setup.Profile), w.Rendered, w.Position)
}

// commitTimeout bounds the wait for another program's lock on the database. It is short because the user
// waits for the pass. If this pass cannot store its decisions, the next one does.
const commitTimeout = time.Second

// commit stores the pass in one transaction, and then makes its additions part of
// the session.
func (ps *pass) commit(ctx context.Context) error {
	s, d := ps.s, ps.decision
	systemChanged := s.IsSystemChanged()
	if systemChanged && !ps.wire.Bust {
		ps.wire.Bust, ps.wire.BustCause = true, pipeline.BustSystem
	}
	w := ps.wire
	after := s.Pipe.After(d, w, ps.at)
	row := ps.rowAfter(after)
	after.Passes = row.Passes // a copy counts its passes from 1
	c := store.PassCommit{
		Session: row, Pass: ps.journalLine(row),
		Units: session.RowsFromUnits(slices.Concat(s.Unsaved, ps.fresh)), Stamped: s.Pipe.Stamped(),
		Drained: d.Drained, LostThinking: w.Lost,
		Removals: ps.removals(), Rereads: regrets.Of(s).rereads, RereadSince: row.Passes - pipeline.SoonPasses,
		FlushDone:  row.ExplicitFlush,
		RoomMade:   row.OverflowAt > 0 && (len(d.Edits) > 0 || d.Head != nil || ps.isRefusedGone()),
		SystemSent: systemChanged,
	}
	if d.Head != nil {
		c.Head = session.RowFromHead(*d.Head, d.Fold, row.Passes, s.Chronicle.End.Generation)
	}
	for _, b := range s.Pipe.Unstored() {
		c.Thinking = append(c.Thinking, store.ThinkingRow{MessageKey: b.MessageKey, Prompt: b.Prompt})
	}
	if s.Inherited != nil {
		c.Edits, c.Inherited = slices.Clip(s.Inherited.Edits), &s.Inherited.Rest
		c.Thinking = append(c.Thinking, s.Inherited.Thinking...)
	}
	if r := reminders.Of(s); r.isNew {
		c.Nudge = r.row
	}
	for i, e := range d.Edits {
		c.Edits = append(c.Edits, session.RowFromEdit(e, row.Passes, d.Reasons[i].Rule))
	}
	ctx, cancel := ps.h.guard.Writing(ctx)
	defer cancel()
	if err := ps.h.Store.CommitPass(ctx, c); err != nil {
		return fmt.Errorf("store the decisions of request %d: %w", row.Passes, err)
	}
	s.Unsaved, s.Inherited, s.IsUnstored = nil, nil, false
	reminders.Of(s).isNew = false
	if len(regrets.Of(s).rereads) > 0 {
		*regrets.Of(s) = regret{}
	}
	*pauses.Of(s), s.WireTokens = ps.pauseBefore(), w.Tokens
	if systemChanged { // the provider cannot have read this prompt from its cache
		row.System.Pending, *pauses.Of(s) = false, nil
	}
	if w.Bust {
		*samplings.Of(s) = sampling{answered: s.Pipe.Measured()}
	}
	s.Pipe.Commit(d, w, after)
	row.ExplicitFlush = false
	if c.RoomMade {
		row.OverflowAt = 0
	}
	s.Row = row
	if d.Head != nil {
		s.Chronicle.HeadGeneration = c.Head.Generation
	}
	if ps.h.Taken != nil && len(d.Edits) > 0 {
		ps.h.Taken(s.Key.Session, row.Passes, s.Pipe.Taken(d))
	}
	ps.log()
	return nil
}

// rowAfter returns the session's row after the pass.
func (ps *pass) rowAfter(after pipeline.Meta) store.SessionRow {
	row, w := ps.s.Row, ps.wire
	row.Passes++
	row.Epoch = after.Epoch
	row.LastPassAt = after.At
	row.Provider, row.Model, row.Agent = after.Model.Provider, after.Model.ID, after.Agent
	row.TagCounter = ps.s.Pipe.State.TagCounter
	row.Setup = session.RowFromSetup(w.Setup, after.ReclaimUpTo)
	row.Episode, row.Gauge = session.RowFromEpisode(after.Episode), store.GaugeState(after.Gauge)
	row.Rent = store.RentState(after.Rent)
	row.WireMessages, row.WireChain = w.Wire.Messages, session.TextOf(w.Wire)
	row.RawMessages, row.RawChain = w.Raw.Messages, session.TextOf(w.Raw)
	row.LostBlocks += w.LostBlocks
	row.LostTokens += w.LostTokens
	if w.Bust {
		row.Busts++
	}
	return row
}

// journalLine returns the journal's line for the pass. row is the session's row after the pass.
func (ps *pass) journalLine(row store.SessionRow) store.PassRow {
	d, w := ps.decision, ps.wire
	head := ps.s.Pipe.State.Head
	if d.Head != nil {
		head = *d.Head
	}
	return store.PassRow{
		Pass: row.Passes, At: ps.at,
		Verdict: string(d.Verdict), Cause: string(d.Cause),
		Bust: w.Bust, BustCause: w.BustCause,
		Messages: ps.s.Pipe.Len(), Kept: ps.params.Keep,
		WireMessages: w.Wire.Messages, WireTokens: w.Tokens, WireBytes: w.Bytes, PrefixTokens: w.PrefixTokens,
		Chain:      row.WireChain,
		EditsAdded: len(d.Edits),
		Pressure:   d.Percent / 100, SizeTokens: d.Size.Current, GoalTokens: d.Goal,
		Price:      store.BustPrice(d.Price),
		LostBlocks: w.LostBlocks, LostTokens: w.LostTokens,
		FoldReason: string(d.Fold), BaselineTokens: head.BaselineTokens, DeltaTokens: head.DeltaTokens,
		HostUS: time.Since(ps.started).Microseconds(),
	}
}

func (ps *pass) log() {
	s, d, w := ps.s, ps.decision, ps.wire
	ps.h.Log.Debug("pass", "session", s.Key.Session, "pass", s.Row.Passes,
		"verdict", d.Verdict, "cause", d.Cause, "pressure", d.Percent/100,
		"bust", w.Bust, "bustCause", w.BustCause, "edits", len(d.Edits),
		"fold", d.Fold, "size", d.Size.Current, "goal", d.Goal, "lostBlocks", w.LostBlocks,
		"removed", d.Price.Removed, "resent", d.Price.Resent, "breakEven", d.Price.BreakEven, "forecast", d.Price.Forecast,
		"freedBy", d.FreedBy, "messages", s.Pipe.Len(), "took", time.Since(ps.started))
}

// answer returns the changes that lead the client from its last mutation to the wire of this pass.
func (ps *pass) answer() schema.WireMutation {
	s := ps.s
	s.Revision = ps.h.serial.Next()
	m := schema.WireMutation{Revision: s.Revision, Verdict: ps.decision.Verdict, Wire: ps.wire.Token}
	if s.Row.Passes == 0 && !s.SystemComesFirst() {
		// Until a first pass is stored, System leaves the prompt unchanged. So this request has another
		// system prompt than the next one, and thinking in its answer will not be valid behind the next one
		// (F21).
		m.Wire = ""
	}
	if ps.decision.Verdict != schema.Steady {
		m.Cause = string(ps.decision.Cause)
	}
	m.Edits, m.Cleared = s.Pipe.Mutation()
	m.Start, m.Pinned, m.Head, m.HeadCleared = s.Pipe.HeadMutation()
	return m
}
