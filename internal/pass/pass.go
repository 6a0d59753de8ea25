package pass

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/bug"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// Transform runs one pass, and returns the changes that the client lacks. If Transform fails, the client uses its last
// good mutation.
func (e *Engine) Transform(ctx context.Context, c client.Client, key store.Key, p schema.TransformParams) (schema.WireMutation, error) {
	var none schema.WireMutation
	s, err := e.Sessions.Lock(ctx, key)
	if err != nil {
		return none, err
	}
	defer e.Sessions.Trim()
	defer s.Unlock()
	done := false
	defer func() { // this also runs after a panic, because the next pass must not use a half-changed session
		if !done {
			s.Forget()
		}
	}()
	pass, err := e.begin(ctx, c, s, p)
	if errors.Is(err, client.ErrResync) {
		done = true
	}
	if err != nil {
		return none, err
	}
	pass.Covered = s.Pipe.State.Head.Ordinal
	if err := pass.run(ctx); err != nil {
		return none, err
	}
	done = true
	answer := pass.answer()
	s.LastPass.Store(time.Since(pass.started).Microseconds())
	s.Thinking.Store(int64(s.Pipe.Thinking(frozen.Additions{})))
	for _, f := range e.Features {
		if f.Done != nil {
			f.Done(ctx, pass)
		}
	}
	if p.Base == 0 && len(p.Messages) > largeResyncBytes {
		time.AfterFunc(afterResync, debug.FreeOSMemory)
	}
	return answer, nil
}

// A resync leaves several times the array's size as garbage in memory. Afterwards, the host may be idle for minutes, so
// the garbage would stay. So after a large resync, the host soon returns the memory to the system.
const (
	largeResyncBytes = 4 << 20
	afterResync      = 200 * time.Millisecond
)

type Engine struct{ Options }

type Options struct {
	Store    *store.Store
	Guard    *store.Guard
	Sessions *session.Sessions
	Models   *model.Models
	Clients  *client.Registry
	Serial   *clock.Serial
	Clock    clock.Clock
	Log      *slog.Logger
	Features []Feature
	// If Taken is not nil, it is called after each stored pass that has added edits. A replay uses Taken to show the
	// edits.
	Taken func(session string, pass int, taken []pipeline.Taken)
}

func New(o Options) *Engine { return &Engine{o} }

type Pass struct {
	e       *Engine
	Client  client.Client
	Session *session.Session
	started time.Time
	At      int64
	Params  schema.TransformParams
	Config  schema.Config
	Limits  schema.ModelLimits
	window  model.Window
	Life    route.Belief
	Fresh   []frozen.Unit
	// Before the pass, the head covered this number of messages.
	Covered       int
	refusedGone   bool // see isRefusedGone
	SystemChanged bool

	Readings pipeline.Readings
	Decision pipeline.Decision
	Wire     pipeline.Wire
}

// Note adds a text at the end of a unit. The unit must be new in this pass: a change of a unit that the provider has
// already seen would bust the prefix.
func (ps *Pass) Note(tag int, text string) {
	u := ps.Session.Pipe.State.ByTag(tag)
	u.Note += "\n\n" + text
	i := slices.IndexFunc(ps.Fresh, func(u frozen.Unit) bool { return u.Tag == tag })
	ps.Fresh[i] = *u
}

func (e *Engine) begin(ctx context.Context, c client.Client, s *session.Session, p schema.TransformParams) (*Pass, error) {
	started := time.Now()
	isResync := p.Base == 0
	if p.Keep < 0 {
		return nil, client.Invalid("keep is %d; it is a number of messages", p.Keep)
	}
	if !isResync && (s.Pipe == nil || s.Revision != p.Base || p.Keep > s.Pipe.Len()) {
		return nil, client.ErrResync
	}
	if isResync && p.Keep != 0 {
		return nil, client.Invalid("keep is %d without a base; send keep 0, because base 0 sends the whole array", p.Keep)
	}
	var messages json.Array // only this call validates the JSON
	if err := json.Unmarshal(p.Messages, &messages); err != nil {
		remedy := ""
		if strings.Contains(err.Error(), "exceeded max depth") {
			remedy = "; a message holds JSON of more than 10,000 levels: take that message back in the harness, or begin a new session"
		}
		return nil, client.Invalid("attachment of %s: %v%s", schema.MethodTransform, err, remedy)
	}
	if err := transcript.CheckSize(p.Keep, messages); err != nil {
		return nil, client.Invalid("%v", err)
	}
	ps := &Pass{e: e, Client: c, Session: s, started: started, At: e.Clock.Now(), Params: p, Config: e.Clients.Config(s.Key.Harness, p.Directory)}
	if isResync {
		if err := e.resync(ctx, s, p, ps.Config, messages); err != nil {
			return nil, err
		}
		s.Bytes.Store(0)
	} else if err := e.Sessions.Enter(ctx, s, p.Directory); err != nil {
		e.Guard.Wrote(err)
		return nil, err
	}
	s.Bytes.Add(int64(len(p.Messages)))
	s.Pipe.LearnTyped(p.Typed)
	ps.Fresh = s.Pipe.Update(p.Keep, messages, p.Sent)
	if p.Model != nil {
		s.Pipe.AskModel(*p.Model)
	}
	if err := Ended(ctx, "read the transcript"); err != nil {
		return nil, err
	}
	var err error
	if ps.Limits, err = e.Models.Limits(ctx, c, p.Directory, s.Pipe.Model()); err != nil {
		return nil, err
	}
	ps.window = e.Models.Window(ctx, s.Pipe.Model(), model.PromptLimit(ps.Limits))
	for _, f := range e.Features {
		if f.Begun != nil {
			f.Begun(ctx, ps)
		}
	}
	ps.Life = e.Models.CacheLife(ctx, s.Key.Harness, ps.Config, s.Pipe.Model(), ps.Limits.NPM)
	return ps, nil
}

// After a crash, the state in memory may be missing or half changed. So resync loads the session from the store.
func (e *Engine) resync(ctx context.Context, s *session.Session, p schema.TransformParams, cfg schema.Config, messages []json.Value) error {
	codec, err := client.CodecOf(s.Key.Harness)
	if err != nil {
		return err
	}
	snap, err := e.Sessions.Load(ctx, s)
	if err != nil {
		e.Guard.Wrote(err)
		return err
	}
	s.Pipe, s.Row.Parent = nil, p.Parent
	if err := e.Sessions.Enter(ctx, s, p.Directory); err != nil {
		return err
	}
	if s.Row.Passes == 0 {
		s.Row.Mode = session.ModeOf(codec, messages, p.Parent != "", cfg.CtxReduceEnabled).String()
	}
	if s.Chronicle, err = e.Sessions.ReadChronicle(ctx, s); err != nil {
		e.Guard.Wrote(err)
		return err
	}
	if snap.Head != nil {
		s.Chronicle.HeadGeneration = snap.Head.Generation
	}
	s.Inherited = nil
	if s.Row.Passes == 0 && p.Parent == "" && len(messages) > 1 {
		return e.Sessions.BuildCopy(ctx, s, snap, codec, p.Original, messages)
	}
	s.Build(snap, codec)
	return nil
}

func (ps *Pass) run(ctx context.Context) error {
	pipe := ps.Session.Pipe
	ps.Readings = ps.read(ctx)
	ps.Decision = pipe.Decide(ps.Readings)
	if err := Ended(ctx, "decide"); err != nil {
		return err
	}
	for _, f := range ps.e.Features {
		if f.Decided == nil {
			continue
		}
		f.Decided(ctx, ps)
		if err := Ended(ctx, "decide"); err != nil {
			return err
		}
	}
	ps.render(ps.Decision)
	if err := Ended(ctx, "render"); err != nil {
		return err
	}
	if hits := ps.validate(ps.Wire); len(hits) > 0 {
		ps.e.Log.Error("the wire breaks a rule of the provider", "session", ps.Session.Key.Session, "rule", hits[0].Rule, "message", hits[0].Message, "hits", len(hits))
		ps.retreat(pipeline.CauseInvalidWire)
		if hits = ps.validate(pipe.RenderAnew(ps.Decision)); len(hits) > 0 {
			return fmt.Errorf("wire breaks rule %s at message %s", hits[0].Rule, hits[0].Message)
		}
	}
	if err := Ended(ctx, "validate"); err != nil {
		return err
	}
	err := ps.commit(ctx)
	ps.e.Guard.Wrote(err)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", store.ErrBusy, err)
	}
	switch {
	case errors.Is(err, store.ErrCannotPersist):
		return client.Disabled(store.Reason(err))
	case errors.Is(err, store.ErrBusy):
		// Another program has locked the database. The provider must not see an edit that is not stored, and the user should
		// not wait for the lock. So the pass becomes steady and answers without its edits.
		ps.e.Log.Warn("pass not stored, the database is busy", "session", ps.Session.Key.Session, "error", err)
		ps.keepUnits()
		s := ps.Session
		s.SystemOf = s.Row.Passes // the next system prompt belongs to this pass, and not to the newest stored one
		ps.retreat(pipeline.CauseBusy)
		s.Pipe.Sent(ps.Wire)
		s.Pipe.Meta.Gauge = ps.Decision.Gauge
		s.WireTokens = ps.Wire.Tokens
		return nil
	}
	return err
}

// Forecast returns the pass that would run now, and stores nothing. The caller holds the session's lock.
func (e *Engine) Forecast(ctx context.Context, c client.Client, s *session.Session, directory string) (*Pass, error) {
	m := s.Pipe.Model()
	ps := &Pass{e: e, Client: c, Session: s, At: e.Clock.Now(), Covered: s.Pipe.State.Head.Ordinal, Config: e.Clients.Config(s.Key.Harness, directory), Params: schema.TransformParams{Directory: directory}}
	var err error
	if ps.Limits, err = e.Models.Limits(ctx, c, directory, m); err != nil {
		return nil, err
	}
	ps.window = e.Models.Window(ctx, m, model.PromptLimit(ps.Limits))
	ps.Life = e.Models.CacheLife(ctx, s.Key.Harness, ps.Config, m, ps.Limits.NPM)
	ps.Readings = ps.read(ctx)
	ps.Decision = s.Pipe.Decide(ps.Readings)
	return ps, nil
}

// Ended returns an error if ctx has ended. A step such as deciding or rendering does no I/O, so the step itself does
// not notice the end. The client has stopped waiting for this pass, but the session's next call waits until the pass
// ends. So the pass must not continue.
func Ended(ctx context.Context, step string) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", step, context.Cause(ctx))
}

// keepUnits keeps the new units until a pass can store them. The model is about to see the tags of these units, so no
// other unit may get the same tags.
func (ps *Pass) keepUnits() {
	s := ps.Session
	if len(ps.Fresh) == 0 {
		return
	}
	s.Unsaved = append(s.Unsaved, ps.Fresh...)
	if err := ps.e.Store.Waiting.Keep(s.Key, session.RowsFromUnits(s.Unsaved)); err != nil {
		ps.e.Log.Error("new tags are remembered in memory only", "session", s.Key.Session, "error", err)
	}
}

func (ps *Pass) read(ctx context.Context) pipeline.Readings {
	m, limit := ps.Session.Pipe.Model(), ps.window.Tokens
	percent, _ := config.Threshold(ps.Config, m.Provider, m.ID, limit)
	profile := render.ProfileOf(m.Provider, ps.Limits.NPM)
	r := pipeline.Readings{
		Now: ps.At, LimitTokens: limit, Threshold: percent, LowMark: ps.Config.LowMarkPercentage,
		TTL:            ps.Life.Life,
		Route:          ps.Life.Route,
		Subagent:       ps.Session.Mode().IsSubagent,
		Flush:          ps.Session.Row.ExplicitFlush,
		OverflowTokens: ps.Session.Row.OverflowTokens,
		Counting:       pipeline.Counting{Model: ps.e.Models.TokenRatio(ctx, m), Measured: ps.e.Models.TokenRatio(ctx, ps.Session.Pipe.MeasuredBy())},
		Price:          ps.Life.Route.Price(ps.Limits.Price),
		BuysForRent:    ps.Config.Spending != schema.SpendingGenerous,
		Profile:        profile.Name,
		Binds:          BindsThinking(ps.Config, profile, m),
		Gaps:           ps.Config.TemporalAwareness,
		SystemPending:  ps.Session.Row.System.Pending,
		SystemIsNew:    ps.Session.IsSystemNew(),
		SystemIsOld:    ps.Session.IsSystemOld(ps.At),
		Knobs:          knobs(ctx, ps.Config, ps.Session.Mode(), ps.Params.Directory),
	}
	ps.refusedGone = ps.isRefusedGone(r.Counting)
	r.Overflow = ps.isOverflow()
	for _, f := range ps.e.Features {
		if f.Read != nil {
			f.Read(ctx, ps, &r)
		}
	}
	return r
}

// BindsThinking reports whether the model binds its thinking. The setting "on" or "off" overrides the rule for the
// model's id.
func BindsThinking(cfg schema.Config, profile render.Profile, m schema.Model) bool {
	switch config.PreservedThinking(cfg, m.Provider, m.ID) {
	case "on":
		return true
	case "off":
		return false
	}
	return profile.BindsThinking(m.ID)
}

// isOverflow reports whether the newest prompt was refused. If the model has answered since then, the prompts fit
// again. Usually, the event of this answer clears OverflowAt. The event may be lost, so isOverflow also looks for the
// answer in the array.
func (ps *Pass) isOverflow() bool {
	at := ps.Session.Row.OverflowAt
	return at > 0 && model.IsLater(at, ps.Session.Pipe.AnsweredAt(), ps.At) && !ps.refusedGone
}

// isRefusedGone reports whether the refusal says nothing about the current prompt. This is so in two cases. The user
// has taken back the refused prompt. Or the harness could not reach the host, and sent its own messages instead of the
// host's wire.
func (ps *Pass) isRefusedGone(c pipeline.Counting) bool {
	row, pipe := &ps.Session.Row, ps.Session.Pipe
	if row.OverflowAt == 0 {
		return false
	}
	isNewest := row.OverflowPass == row.Passes
	return pipe.HasLostGauge() || isNewest && (pipe.TookBack() || pipe.RefusedAnother(row.OverflowTokens, ps.window.Tokens, c))
}

func (ps *Pass) render(d pipeline.Decision) {
	ps.Wire = ps.Session.Pipe.Render(d)
	if ps.Wire.Err != nil {
		bug.Reportf(ps.e.Log, "patch of session %s: %v", ps.Session.Key.Session, ps.Wire.Err)
	}
	if ps.Wire.BustCause == pipeline.BustUnexplained {
		bug.Reportf(ps.e.Log, "unexplained bust in session %s, pass %d", ps.Session.Key.Session, ps.Session.Row.Passes+1)
	}
}

func (ps *Pass) retreat(cause pipeline.Cause) {
	ps.Decision = ps.Decision.Steady(cause)
	ps.Wire = ps.Session.Pipe.Render(ps.Decision)
}

func (ps *Pass) validate(w pipeline.Wire) []render.Violation {
	return render.Validate(render.ProfileNamed(w.Setup.Profile), w.Rendered, w.Position)
}
