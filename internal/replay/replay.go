package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/host"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// Options of a replay.
type Options struct {
	// Log takes the host's log; nil discards it.
	Log *slog.Logger
	// Config is the configuration to replay with; nil is the default one.
	Config *schema.Config
	// Mode, Profile and Window (tokens) replay the trace as if it had been
	// recorded in that mode, for a provider of that profile, with a model of that
	// window; "" and 0 leave what was recorded.
	Mode, Profile string
	Window        int
	// Recount replaces the usage that the trace reports by what the simulated
	// provider counts, so that pressure is that of the replayed prompts.
	Recount bool
	// Progress is called after each pass with the number of steps done and of
	// all steps.
	Progress func(done, all int)
}

// callTimeout bounds one call of a replay. It is generous: a replay may run
// beside other work, and measures its times itself.
const callTimeout = time.Minute

// Run replays the trace of r and reports. It errs when the trace cannot be
// read or the host refuses it; broken invariants are part of the report.
func Run(ctx context.Context, r io.Reader, o Options) (*Report, error) {
	t, err := read(r)
	if err != nil {
		return nil, err
	}
	if len(t.steps) == 0 {
		return nil, errors.New("the trace holds no request of a shim")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p, closePlayer, err := newPlayer(ctx, t, o)
	if err != nil {
		return nil, err
	}
	defer closePlayer()
	for i, s := range t.steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := p.play(ctx, s); err != nil {
			return nil, fmt.Errorf("step %d (%s): %w", i+1, s.method, err)
		}
		if o.Progress != nil {
			o.Progress(i+1, len(t.steps))
		}
	}
	p.report.finish()
	return p.report, nil
}

// A player plays the shim's part of a trace.
type player struct {
	trace    *trace
	clock    *clock.Manual
	store    *store.Store
	client   *rpc.Client
	sessions map[string]*session
	price    schema.Price
	config   schema.Config
	report   *Report

	overrides *overrides
	recount   *recount
}

// session is what the player keeps of one session.
type session struct {
	mirror  *mirror
	passes  int
	before  []render.Rendered
	dropped map[string]bool
	// pending is the pass whose request has not got its system prompt yet.
	pending     *Pass
	at          int64
	model       string
	isAutomatic bool // the provider caches without breakpoints
	wires, raws []render.WireMessage
	ours, plain *biller
	// system and rawSystem are the newest prompts that were seen.
	system, rawSystem []string
	// counted is the usage of the newest pass, nil before the first.
	counted *promptcache.Tokens
}

func newPlayer(ctx context.Context, t *trace, o Options) (*player, func(), error) {
	over, err := newOverrides(o)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "magicctx-replay-")
	if err != nil {
		return nil, nil, fmt.Errorf("directory for the store: %w", err)
	}
	p := &player{
		trace: t, clock: clock.NewManual(t.steps[0].at), sessions: make(map[string]*session), price: listPrice, config: config.Default(), report: &Report{},
		overrides: over, recount: newRecount(o.Recount),
	}
	if o.Config != nil {
		p.config = *o.Config
	}
	over.configure(&p.config)
	p.store, err = store.Open(ctx, store.Options{Dir: dir, Log: o.Log, Clock: p.clock})
	if err != nil {
		os.RemoveAll(dir)
		return nil, nil, err
	}
	h := host.New(host.Options{
		Store: p.store, Clock: p.clock, Log: o.Log,
		LoadConfig:    func(schema.Harness, string) (schema.Config, []config.Warning) { return p.config, nil },
		CommitTimeout: callTimeout, // the database is ours: only a busy machine makes it slow
	})
	server := rpc.NewServer(h, rpc.Options{Log: o.Log, Clock: p.clock})
	near, far := rpc.Pipe()
	served := make(chan struct{})
	go func() {
		server.ServeConn(ctx, far)
		close(served)
	}()
	p.client = rpc.NewClient(near, p.answer, o.Log)
	return p, func() {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = p.client.Close(bye) // nothing is left to write
		<-served
		_ = p.store.Close() // the store is removed with its directory
		os.RemoveAll(dir)
	}, nil
}

// answer gives the host what the recorded shim gave.
func (p *player) answer(_ context.Context, method string, params json.Value) (any, error) {
	switch method {
	case schema.MethodMessageSend, schema.MethodNotifyShow:
		return schema.Empty{}, nil // nobody is there to read it
	case schema.MethodModelLimits:
	default:
		return p.trace.answer(method, params)
	}
	var asked schema.ModelLimitsParams
	if err := json.Unmarshal(params, &asked); err != nil {
		return nil, err
	}
	return p.overrides.limits(p.trace, asked)
}

// play repeats one step.
func (p *player) play(ctx context.Context, s step) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	p.clock.Set(max(s.at, p.clock.Now()))
	switch s.method {
	case schema.MethodTransform:
		return p.transform(ctx, s)
	case schema.MethodSystem:
		return p.system(ctx, s)
	case schema.MethodEvent:
		told, err := p.retellEvent(s.params)
		if err != nil {
			return err
		}
		s.params = told
	case schema.MethodShutdown, schema.MethodCancel:
		return nil
	}
	if s.notification {
		return p.client.Notify(s.method, s.params)
	}
	var result json.Value
	err := p.client.Call(ctx, s.method, s.params, &result)
	if s.method != schema.MethodInitialize && err != nil && ctx.Err() == nil {
		return nil // a recorded mistake of the shim or the model is part of the trace
	}
	return err
}

func (p *player) transform(ctx context.Context, s step) error {
	var params schema.TransformParams
	if err := json.Unmarshal(s.params, &params); err != nil {
		return err
	}
	ses := p.session(params.Session)
	p.settle(ses)
	keep := params.Keep
	if params.Base == 0 {
		keep = 0
	}
	params.Parent = p.overrides.parent(params.Parent)
	messages, err := p.retell(ses, s.attachment)
	if err != nil {
		return err
	}
	held := len(ses.mirror.entries)
	if err := ses.mirror.update(keep, messages); err != nil {
		return err
	}
	// A recorded resync is a resync again; otherwise the base is our own.
	if params.Base != 0 {
		params.Base = ses.mirror.revision
	}
	started := time.Now()
	var w schema.WireMutation
	if err := p.client.CallWithAttachment(ctx, schema.MethodTransform, params, messages, &w); err != nil {
		return err
	}
	took := time.Since(started)
	after, err := ses.mirror.apply(w)
	if err != nil {
		return err
	}
	return p.observe(ctx, ses, params, w, after, keep >= held, took)
}

// observe judges a pass from the outside and adds it to the report.
func (p *player) observe(ctx context.Context, ses *session, params schema.TransformParams, w schema.WireMutation, after []render.Rendered, grew bool, took time.Duration) error {
	rows, err := p.store.Passes(ctx, store.Key{Harness: string(schema.HarnessOpenCode), Session: params.Session}, ses.passes, 1)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return fmt.Errorf("the host did not journal pass %d", ses.passes+1)
	}
	row := rows[0]
	var st schema.SessionStatus
	if err := p.client.Call(ctx, schema.MethodSessionStatus, schema.SessionStatusParams{Harness: schema.HarnessOpenCode, Session: params.Session}, &st); err != nil {
		return err
	}
	ses.passes = row.Pass
	pass := &Pass{
		Pass: len(p.report.Passes) + 1, Session: params.Session, Verdict: w.Verdict, Cause: row.Cause, Bust: row.Bust, BustCause: row.BustCause,
		Messages: row.Messages, PrefixTokens: row.PrefixTokens, WireTokens: row.WireTokens, Pressure: row.Pressure, Edits: row.EditsAdded,
		Size: row.SizeTokens, Goal: row.GoalTokens, Price: schema.BustPrice(row.Price),
		HostMS: st.LastPassMS, CallMS: float64(took.Microseconds()) / 1000,
	}
	p.report.Passes = append(p.report.Passes, pass)

	isBust := commonPrefix(ses.before, after) < visible(ses.before)
	if isBust != row.Bust {
		pass.BustCause = pipeline.BustUnexplained
		pass.Bust = true
	}
	for _, name := range broken(observation{w.Verdict, grew, ses.before, after, ses.dropped}) {
		p.report.InvariantViolations = append(p.report.InvariantViolations, Finding{pass.Pass, name, ""})
	}
	model, npm := p.modelOf(ses.mirror, params)
	profile := render.ProfileOf(model.Provider, npm)
	ses.isAutomatic = profile.Breakpoints == 0
	for _, v := range render.Validate(profile, after, render.Position{First: true, Last: true}) {
		p.report.ValidatorHits = append(p.report.ValidatorHits, Finding{pass.Pass, v.Rule, v.Message})
	}
	if model.ID != "" {
		pass.Model = model.Provider + "/" + model.ID
	}
	pass.WindowTokens = st.ContextTokens
	if p.overrides.window > 0 && st.ContextTokens == 0 {
		return fmt.Errorf("a window of %d tokens is none that the host believes", p.overrides.window)
	}
	percent, _ := config.Threshold(p.config, model.Provider, model.ID, st.ContextTokens)
	pass.ThresholdTokens = int(percent / 100 * float64(st.ContextTokens))
	ses.before, ses.pending, ses.at, ses.model = after, pass, p.clock.Now(), model.Provider+"/"+model.ID
	ses.wires, ses.raws = ses.wires[:0], ses.raws[:0]
	for _, r := range after {
		ses.wires, ses.raws = append(ses.wires, r.Wire), append(ses.raws, r.Raw)
	}
	return nil
}

// system repeats a system prompt and bills the request that it completes.
func (p *player) system(ctx context.Context, s step) error {
	var params schema.SystemParams
	if err := json.Unmarshal(s.params, &params); err != nil {
		return err
	}
	var r schema.SystemResult
	if err := p.client.Call(ctx, s.method, params, &r); err != nil {
		return err
	}
	if r.System == nil {
		return nil // the title request and its like, which are not ours
	}
	ses := p.session(params.Session)
	ses.system, ses.rawSystem = r.System, params.System
	p.settle(ses)
	return nil
}

// settle bills the pass that waits, with the newest system prompt that is known.
func (p *player) settle(ses *session) {
	if ses.pending == nil {
		return
	}
	ses.pending.Tokens, ses.pending.Sources = ses.ours.request(ses.at, ses.model, ses.isAutomatic, ses.system, ses.wires)
	ses.pending.Raw, _ = ses.plain.request(ses.at, ses.model, ses.isAutomatic, ses.rawSystem, ses.raws)
	ses.pending.Bill = promptcache.Bill(ses.pending.Tokens, p.price)
	ses.pending.RawBill = promptcache.Bill(ses.pending.Raw, p.price)
	ses.counted = &ses.pending.Tokens
	ses.pending = nil
}

func (p *player) session(id string) *session {
	ses, ok := p.sessions[id]
	if !ok {
		ses = &session{mirror: newMirror(transcript.OpenCode{}), dropped: make(map[string]bool), ours: newBiller(), plain: newBiller()}
		p.sessions[id] = ses
		p.report.sessions = append(p.report.sessions, func() { p.settle(ses) })
	}
	return ses
}

// modelOf returns the model of the newest user message, and what the recorded
// catalogue says of it.
func (p *player) modelOf(m *mirror, params schema.TransformParams) (schema.Model, string) {
	var model schema.Model
	for i := len(m.entries) - 1; i >= 0; i-- {
		d := m.codec.Decode(m.entries[i].raw)
		if d.Role == transcript.User && d.Model.ID != "" {
			model = d.Model
			break
		}
	}
	limits, err := p.overrides.limits(p.trace, schema.ModelLimitsParams{Directory: params.Directory, Model: model})
	if err == nil && limits.Price.Read > 0 {
		p.price = limits.Price
		if p.price.Write <= 0 { // to be remembered costs nothing extra
			p.price.Write = p.price.Fresh
		}
	}
	return model, limits.NPM
}
