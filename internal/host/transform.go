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
	s, err := h.sessions.lock(ctx, key)
	if err != nil {
		return none, err
	}
	defer h.sessions.trim()
	defer s.unlock()
	done := false
	defer func() { // this also runs if the pass panics, because the next pass must not continue half a pass
		if !done {
			s.forget()
		}
	}()
	pass, err := h.begin(ctx, c, s, p)
	if errors.Is(err, client.ErrResync) {
		done = true
	}
	if err != nil {
		return none, err
	}
	covered := s.pipe.State.Head.Ordinal
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
	s.lastPass.Store(time.Since(pass.started).Microseconds())
	h.publish(s.key)
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
	s       *session
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
func (h *Host) begin(ctx context.Context, c client.Client, s *session, p schema.TransformParams) (*pass, error) {
	started := time.Now()
	isResync := p.Base == 0
	if !isResync && (s.pipe == nil || s.revision != p.Base || p.Keep > s.pipe.Len()) {
		return nil, client.ErrResync
	}
	if isResync && p.Keep != 0 {
		return nil, client.Invalid("keep is %d without a base", p.Keep)
	}
	var messages json.Array // only this call validates the JSON
	if err := json.Unmarshal(p.Messages, &messages); err != nil {
		return nil, client.Invalid("attachment of %s: %v", schema.MethodTransform, err)
	}
	ps := &pass{h: h, s: s, started: started, at: h.Clock.Now(), params: p, config: h.clients.Config(s.key.Harness, p.Directory)}
	if isResync {
		if err := h.resync(ctx, s, p, ps.config, messages); err != nil {
			return nil, err
		}
		s.bytes.Store(0)
	}
	s.bytes.Add(int64(len(p.Messages)))
	s.pipe.LearnTyped(p.Typed)
	ps.fresh = s.pipe.Update(p.Keep, messages, p.Sent)
	s.noteRereads()
	if p.Model != nil {
		s.pipe.AskModel(*p.Model)
	}
	if err := ended(ctx, "read the transcript"); err != nil {
		return nil, err
	}
	var err error
	if ps.limits, err = h.models.Limits(ctx, c, p.Directory, s.pipe.Model()); err != nil {
		return nil, err
	}
	ps.window = h.models.Window(ctx, s.pipe.Model(), ps.limits)
	if usage, _, ok := s.pipe.Answer(); ok { // the event with this usage may be lost
		writing, cancel := h.guard.Writing(ctx)
		h.guard.Wrote(h.notePause(writing, s, s.pipe.Meta.Model, usage))
		cancel()
	}
	s.pause = nil
	h.guard.Wrote(h.learnRatio(ctx, s))
	ps.life = h.models.CacheLife(ctx, s.key.Harness, ps.config, s.pipe.Model(), ps.limits.NPM)
	return ps, nil
}

// resync prepares the session for a whole array. It loads the session from the store, because the state in
// memory may be missing, or half changed after a crash.
func (h *Host) resync(ctx context.Context, s *session, p schema.TransformParams, cfg schema.Config, messages []json.Value) error {
	codec, err := client.CodecOf(s.key.Harness)
	if err != nil {
		return err
	}
	snap, err := h.load(ctx, s)
	if err != nil {
		h.guard.Wrote(err)
		return err
	}
	s.row.Directory, s.row.Parent = p.Directory, p.Parent
	if s.row.Passes == 0 {
		s.row.Mode = modeOf(codec, messages, p.Parent != "", cfg.CtxReduceEnabled).String()
	}
	if s.chronicle, err = h.readChronicle(ctx, s.key, p.Directory); err != nil {
		h.guard.Wrote(err)
		return err
	}
	if snap.Head != nil {
		s.chronicle.headGeneration = snap.Head.Generation
	}
	s.inherited = nil
	if s.row.Passes == 0 && p.Parent == "" && len(messages) > 1 {
		return h.buildCopy(ctx, s, snap, codec, messages)
	}
	s.build(snap, codec)
	return nil
}

// run decides, renders and commits.
func (ps *pass) run(ctx context.Context) error {
	pipe := ps.s.pipe
	ps.readings = ps.read(ctx)
	ps.decision = pipe.Decide(ps.readings)
	if err := ps.rescue(ctx); err != nil {
		ps.h.Log.Warn("old history is not summarised, although the next prompt may not fit", "session", ps.s.key.Session, "error", err)
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
		ps.h.Log.Error("the wire breaks a rule of the provider", "session", ps.s.key.Session, "rule", hits[0].Rule, "message", hits[0].Message, "hits", len(hits))
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
		ps.h.Log.Warn("pass not stored, the database is busy", "session", ps.s.key.Session, "error", err)
		ps.keepUnits()
		s := ps.s
		s.isUnstored = true
		ps.retreat(pipeline.CauseBusy)
		s.pipe.Sent(ps.wire)
		s.pipe.Meta.Gauge = ps.decision.Gauge
		s.wireTokens = ps.wire.Tokens
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
	s.unsaved = append(s.unsaved, ps.fresh...)
	if err := ps.h.Store.KeepWaiting(s.key, rowsFromUnits(s.unsaved)); err != nil {
		ps.h.Log.Error("new tags are remembered in memory only", "session", s.key.Session, "error", err)
	}
}

// read collects the current facts, once for each pass.
func (ps *pass) read(ctx context.Context) pipeline.Readings {
	m, limit := ps.s.pipe.Model(), ps.window.Tokens
	percent, _ := config.Threshold(ps.config, m.Provider, m.ID, limit)
	profile := render.ProfileOf(m.Provider, ps.limits.NPM)
	r := pipeline.Readings{
		Now: ps.at, LimitTokens: limit, Threshold: percent, LowMark: ps.config.LowMarkPercentage,
		TTL:            ps.life.Life,
		Route:          ps.life.Route,
		Subagent:       ps.s.mode().IsSubagent,
		Flush:          ps.s.row.ExplicitFlush,
		Overflow:       ps.isOverflow(),
		OverflowTokens: ps.s.row.OverflowTokens,
		Counting:       ps.counting(ctx),
		Price:          ps.life.Route.Price(ps.limits.Price),
		BuysForRent:    ps.config.Spending != schema.SpendingGenerous,
		Profile:        profile.Name,
		Binds:          bindsThinking(ps.config, profile, m),
		Gaps:           ps.config.TemporalAwareness,
		SystemPending:  ps.s.row.System.Pending,
		SystemIsNew:    ps.s.isSystemNew(),
		SystemIsOld:    !ps.s.systemComesFirst() && isEarlierDay(ps.s.row.System.At, ps.at),
		Knobs:          knobs(ctx, ps.config, ps.s.mode(), ps.params.Directory),
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
	at := ps.s.row.OverflowAt
	return at > 0 && model.IsLater(at, ps.s.pipe.AnsweredAt(), ps.at) && !ps.isRefusedGone()
}

// isRefusedGone reports whether the user has since taken back the refused prompt. Then the refusal says
// nothing about the current prompt.
func (ps *pass) isRefusedGone() bool {
	row, pipe := &ps.s.row, ps.s.pipe
	return row.OverflowAt > 0 && (pipe.HasLostGauge() || row.OverflowPass == row.Passes && pipe.TookBack())
}

func (ps *pass) render(d pipeline.Decision) {
	ps.wire = ps.s.pipe.Render(d)
	if ps.wire.Err != nil {
		bug.Reportf(ps.h.Log, "patch of session %s: %v", ps.s.key.Session, ps.wire.Err)
	}
	if ps.wire.BustCause == pipeline.BustUnexplained {
		bug.Reportf(ps.h.Log, "unexplained bust in session %s, pass %d", ps.s.key.Session, ps.s.row.Passes+1)
	}
}

// retreat turns the pass into a steady one.
func (ps *pass) retreat(cause pipeline.Cause) {
	ps.decision = ps.decision.Steady(cause)
	ps.wire = ps.s.pipe.Render(ps.decision)
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
	systemChanged := s.isSystemChanged()
	if systemChanged && !ps.wire.Bust {
		ps.wire.Bust, ps.wire.BustCause = true, pipeline.BustSystem
	}
	w := ps.wire
	after := s.pipe.After(d, w, ps.at)
	row := ps.rowAfter(after)
	after.Passes = row.Passes // a copy counts its passes from 1
	c := store.PassCommit{
		Session: row, Pass: ps.journalLine(row),
		Units: rowsFromUnits(slices.Concat(s.unsaved, ps.fresh)), Stamped: s.pipe.Stamped(),
		Drained: d.Drained, LostThinking: w.Lost,
		Removals: ps.removals(), Rereads: s.rereads, RereadSince: row.Passes - pipeline.SoonPasses,
		FlushDone:  row.ExplicitFlush,
		RoomMade:   row.OverflowAt > 0 && (len(d.Edits) > 0 || d.Head != nil || ps.isRefusedGone()),
		SystemSent: systemChanged,
	}
	if d.Head != nil {
		c.Head = rowFromHead(*d.Head, d.Fold, row.Passes, s.chronicle.end.Generation)
	}
	for _, b := range s.pipe.Unstored() {
		c.Thinking = append(c.Thinking, store.ThinkingRow{MessageKey: b.MessageKey, Prompt: b.Prompt})
	}
	if s.inherited != nil {
		c.Edits, c.Inherited = slices.Clip(s.inherited.edits), &s.inherited.rest
		c.Thinking = append(c.Thinking, s.inherited.thinking...)
	}
	if s.isNudgeNew {
		c.Nudge = s.nudged
	}
	for i, e := range d.Edits {
		c.Edits = append(c.Edits, rowFromEdit(e, row.Passes, d.Reasons[i].Rule))
	}
	ctx, cancel := ps.h.guard.Writing(ctx)
	defer cancel()
	if err := ps.h.Store.CommitPass(ctx, c); err != nil {
		return fmt.Errorf("store the decisions of request %d: %w", row.Passes, err)
	}
	s.unsaved, s.inherited, s.isUnstored, s.isNudgeNew = nil, nil, false, false
	if len(s.rereads) > 0 {
		s.rereads, s.regretted = nil, nil
	}
	s.pause, s.wireTokens = ps.pauseBefore(), w.Tokens
	if systemChanged { // the provider cannot have read this prompt from its cache
		row.System.Pending, s.pause = false, nil
	}
	if w.Bust {
		s.sampling = sampling{answered: s.pipe.Measured()}
	}
	s.pipe.Commit(d, w, after)
	row.ExplicitFlush = false
	if c.RoomMade {
		row.OverflowAt = 0
	}
	s.row = row
	if d.Head != nil {
		s.chronicle.headGeneration = c.Head.Generation
	}
	if ps.h.Taken != nil && len(d.Edits) > 0 {
		ps.h.Taken(s.key.Session, row.Passes, s.pipe.Taken(d))
	}
	ps.log()
	return nil
}

// rowAfter returns the session's row after the pass.
func (ps *pass) rowAfter(after pipeline.Meta) store.SessionRow {
	row, w := ps.s.row, ps.wire
	row.Passes++
	row.Epoch = after.Epoch
	row.LastPassAt = after.At
	row.Provider, row.Model, row.Agent = after.Model.Provider, after.Model.ID, after.Agent
	row.TagCounter = ps.s.pipe.State.TagCounter
	row.Setup = rowFromSetup(w.Setup, after.ReclaimUpTo)
	row.Episode, row.Gauge = rowFromEpisode(after.Episode), store.GaugeState(after.Gauge)
	row.Rent = store.RentState(after.Rent)
	row.WireMessages, row.WireChain = w.Wire.Messages, textOf(w.Wire)
	row.RawMessages, row.RawChain = w.Raw.Messages, textOf(w.Raw)
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
	head := ps.s.pipe.State.Head
	if d.Head != nil {
		head = *d.Head
	}
	return store.PassRow{
		Pass: row.Passes, At: ps.at,
		Verdict: string(d.Verdict), Cause: string(d.Cause),
		Bust: w.Bust, BustCause: w.BustCause,
		Messages: ps.s.pipe.Len(), Kept: ps.params.Keep,
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
	ps.h.Log.Debug("pass", "session", s.key.Session, "pass", s.row.Passes,
		"verdict", d.Verdict, "cause", d.Cause, "pressure", d.Percent/100,
		"bust", w.Bust, "bustCause", w.BustCause, "edits", len(d.Edits),
		"fold", d.Fold, "size", d.Size.Current, "goal", d.Goal, "lostBlocks", w.LostBlocks,
		"removed", d.Price.Removed, "resent", d.Price.Resent, "breakEven", d.Price.BreakEven, "forecast", d.Price.Forecast,
		"freedBy", d.FreedBy, "messages", s.pipe.Len(), "took", time.Since(ps.started))
}

// answer returns the changes that lead the client from its last mutation to the wire of this pass.
func (ps *pass) answer() schema.WireMutation {
	s := ps.s
	s.revision = ps.h.serial.Next()
	m := schema.WireMutation{Revision: s.revision, Verdict: ps.decision.Verdict, Wire: ps.wire.Token}
	if s.row.Passes == 0 && !s.systemComesFirst() {
		// Until a first pass is stored, System leaves the prompt unchanged. So this request has another
		// system prompt than the next one, and thinking in its answer will not be valid behind the next one
		// (F21).
		m.Wire = ""
	}
	if ps.decision.Verdict != schema.Steady {
		m.Cause = string(ps.decision.Cause)
	}
	m.Edits, m.Cleared = s.pipe.Mutation()
	m.Start, m.Pinned, m.Head, m.HeadCleared = s.pipe.HeadMutation()
	return m
}
