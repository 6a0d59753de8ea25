package replay

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/host"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

type player struct {
	host     *host.Host
	trace    *trace
	clock    *clock.Manual
	store    *store.Store
	client   *rpc.Client
	sessions map[string]*session
	taken    taken
	price    schema.Price
	isPriced bool
	report   *Report

	// If the caller has chosen a configuration, isConfigGiven is true, and `config` applies to all directories.
	// Otherwise, `config` applies only to the directories whose configuration is not in the trace.
	config        schema.Config
	isConfigGiven bool
	mu            sync.Mutex // guards configs, because the host's goroutines read it
	configs       map[string]schema.Config
	unknown       []string // questions of the host whose answers the trace does not contain
	opened        map[string]json.Value

	overrides *overrides
	recount   *recount
	watch     func(Sent)
	answered  func(schema.WireMutation)
}

type session struct {
	mirror *mirror
	passes int
	// hasState is true when the session's earlier state is loaded, or reported as missing. isContinued is true if
	// the session had passes before the trace. isSeen is true after the session's first pass in the trace.
	hasState, isContinued, isSeen bool
	// If the trace contains answers of hidden agents, they fit only as long as the replay sends the recorded prompts.
	// isRecorded is then true until a pass of the replay sends another prompt than the recorded pass.
	isRecorded bool
	last       *Pass
	before     []render.Rendered
	dropped    map[string]bool
	sent       string
	// `pending` is the pass whose request still waits for its system prompt.
	pending     *Pass
	at          int64
	model       string
	route       route.Route
	wires, raws []render.WireMessage
	ours, plain *biller
	alone       *alone
	// rawSystem is the system prompt as the harness made it. `system` is the same prompt after the host has changed
	// it.
	system, rawSystem []string
	runs              int
	// `counted` is the usage of the newest pass, or nil before the first pass.
	counted *promptcache.Tokens
}

func newPlayer(ctx context.Context, t *trace, o Options) (*player, func(), error) {
	t.cassette.live = o.Ask
	over, err := newOverrides(o)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "magicctx-replay-")
	if err != nil {
		return nil, nil, fmt.Errorf("directory for the store: %w", err)
	}
	p := &player{
		trace: t, clock: clock.NewManual(t.steps[0].at), sessions: make(map[string]*session), price: cmp.Or(o.Prices[EveryModel], listPrice), config: config.Default(), report: &Report{saved: make(map[string]schema.Saving), regrets: make(map[string]Regret)},
		configs: make(map[string]schema.Config), opened: make(map[string]json.Value),
		overrides: over, recount: newRecount(!o.AsRecorded), watch: o.Watch, answered: o.Answered,
	}
	if o.Config != nil {
		p.config, p.isConfigGiven = *o.Config, true
	}
	over.configure(&p.config)
	if err = p.configureFirst(ctx); err == nil {
		p.store, err = store.Open(ctx, store.Options{Dir: dir, Log: o.Log, Clock: p.clock})
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, nil, err
	}
	p.store.Leases.Hold()
	h := host.New(host.Options{
		Store: p.store, Clock: p.clock, Log: o.Log,
		LoadConfig: p.loadConfig,
		Taken:      p.taken.add,
		Summarises: t.cassette.canAnswer(), Cassette: t.cassette,
		CommitTimeout: callTimeout, // no other program uses this database, so only a busy machine makes a commit slow
	})
	p.host = h
	server := rpc.NewServer(rpc.Always(h), rpc.Options{Log: o.Log, Clock: p.clock})
	near, far := rpc.Pipe()
	served := make(chan struct{})
	go func() {
		server.ServeConn(ctx, far)
		close(served)
	}()
	p.client = rpc.NewClient(near, p.answer, o.Log)
	return p, func() {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer cancel()
		h.Stop(bye)             // this ends the runs whose answers the trace does not contain
		_ = p.client.Close(bye) // everything is written already
		<-served
		_ = p.store.Close() // the store's directory is removed anyway, so an error does not matter
		os.RemoveAll(dir)
	}, nil
}

func (p *player) answer(_ context.Context, method string, params json.Value) (any, error) {
	switch method {
	case schema.MethodNotifyShow:
		return schema.Empty{}, nil // no one reads the notice in a replay
	case schema.MethodModelLimits:
	default:
		return p.trace.answer(method, params)
	}
	var asked schema.ModelLimitsParams
	if err := json.Unmarshal(params, &asked); err != nil {
		return nil, err
	}
	limits, err := p.overrides.limits(p.trace, asked)
	if m := asked.Model; err != nil && !p.trace.asked[m] {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.unknown = append(p.unknown, fmt.Sprintf("the limits of %s/%s", m.Provider, m.ID))
	}
	return limits, err
}

func (p *player) play(ctx context.Context, s step) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	p.clock.Set(max(s.at, p.clock.Now()))
	if s.take != nil {
		p.trace.cassette.play(s.take)
	} else if err := p.request(ctx, s); err != nil {
		return err
	}
	err := p.trace.cassette.settle(ctx)
	p.noteRuns()
	return err
}

func (p *player) request(ctx context.Context, s step) error {
	switch s.method {
	case schema.MethodTransform:
		return p.transform(ctx, s)
	case schema.MethodSystem:
		return p.system(ctx, s)
	case schema.MethodSessionExport:
		return p.load(ctx, s)
	case schema.MethodInitialize:
		var params schema.InitializeParams
		if err := json.Unmarshal(s.params, &params); err != nil {
			return err
		}
		p.opened[params.Directory] = s.params
	case schema.MethodEvent:
		told, err := p.retellEvent(s.params)
		if err != nil {
			return err
		}
		s.params = told
	case schema.MethodShutdown, schema.MethodCancel:
		return nil
	}
	// The player sends each notification as a request, so that the next step waits until the host has handled it.
	var result json.Value
	err := p.client.Call(ctx, s.method, s.params, &result)
	if s.method != schema.MethodInitialize && err != nil && ctx.Err() == nil {
		return nil // the recorded session had the same error, for example a mistake of the model
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
	unchanged := params.Keep
	if params.Base == 0 {
		unchanged = 0
	}
	params.Parent = p.overrides.parent(params.Parent)
	params.Model = p.overrides.model(params.Model)
	messages, err := p.retell(ses, s.attachment)
	if err != nil {
		return err
	}
	held := len(ses.mirror.entries)
	if err := ses.mirror.update(unchanged+s.kept, messages); err != nil {
		return err
	}
	if s.kept > 0 { // for a shortened resync, the host gets the whole array
		if messages, err = json.Marshal(ses.mirror.messages()); err != nil {
			return err
		}
	}
	// The revisions of this replay differ from the recorded ones. So if the recorded call has a base revision, the
	// player replaces it with the newest revision of this replay. A resync has no base, and stays a resync.
	if params.Base != 0 {
		params.Base = ses.mirror.revision
	}
	// Sent is the token of a wire. The tokens of this replay differ from the recorded ones, so the player replaces a
	// recorded token with its own. Older shims sent no tokens, so in their traces, the player adds a token to every
	// call. The exception is the first call of a session that began before the trace. Its token names a wire that the
	// trace does not contain, so this call stays as it was recorded.
	isBefore := ses.isContinued && !ses.isSeen
	if (params.Sent != "" || !p.trace.tellsSent) && !isBefore {
		params.Sent = ses.sent
	}
	if s.recorded().Cause == string(pipeline.CauseFlush) {
		p.flush(ctx, params)
	}
	started := time.Now()
	var w schema.WireMutation
	if err := p.client.CallWithAttachment(ctx, schema.MethodTransform, params, messages, &w); err != nil {
		return err
	}
	elapsed := time.Since(started)
	if err := p.trace.cassette.settle(ctx); err != nil { // the report of this pass must include a run that the pass has caused
		return err
	}
	if p.answered != nil {
		p.answered(w)
	}
	ses.sent = w.Wire
	ses.isRecorded = ses.isRecorded && w.Wire == s.recorded().Wire
	after, err := ses.mirror.apply(w)
	if err != nil {
		return err
	}
	// The first array of a session never counts as one that has only grown. A fork, for example, begins with copied
	// messages, and the edits that it has copied with them may shorten these messages on its first pass.
	grew := held > 0 && unchanged >= held
	err = p.observe(ctx, ses, transformed{params: params, answer: w, after: after, grew: grew, elapsed: elapsed})
	if err != nil {
		return err
	}
	p.checkState(s, params, ses, p.report.Passes[len(p.report.Passes)-1].Cause)
	if p.systemComesFirst() {
		p.settle(ses)
	}
	return nil
}

// flush repeats a /ctx-flush of the user. A sidebar may send commands over a connection of its own, so the trace
// of the session may contain only the effect of the command. If it also contains the command, flush changes nothing.
func (p *player) flush(ctx context.Context, params schema.TransformParams) {
	asked := schema.CommandExecuteParams{Session: params.Session, Directory: params.Directory, Command: "ctx-flush"}
	_ = p.client.Call(ctx, schema.MethodCommandExecute, asked, nil) // if it fails, the pass has another cause
}

type transformed struct {
	params  schema.TransformParams
	answer  schema.WireMutation
	after   []render.Rendered
	grew    bool
	elapsed time.Duration
}

func (p *player) observe(ctx context.Context, ses *session, t transformed) error {
	id := t.params.Session
	rows, err := p.store.Reports.Passes(ctx, store.Key{Harness: string(p.trace.harness), Session: id}, ses.passes, 1)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return fmt.Errorf("the host did not journal request %d", ses.passes+1)
	}
	row := rows[0]
	var st schema.SessionStatus
	if err := p.client.Call(ctx, schema.MethodSessionStatus, schema.SessionStatusParams{Harness: p.trace.harness, Session: id}, &st); err != nil {
		return err
	}
	ses.passes = row.Pass
	pass := &Pass{
		Pass: len(p.report.Passes) + 1, Session: id, Verdict: t.answer.Verdict, Cause: row.Cause, Bust: row.Bust, BustCause: row.BustCause,
		Messages: row.Messages, PrefixTokens: row.PrefixTokens, WireTokens: row.WireTokens, Pressure: row.Pressure, Edits: row.EditsAdded,
		Size: row.SizeTokens, Goal: row.GoalTokens, Price: row.Price, LostBlocks: row.LostBlocks, LostTokens: row.LostTokens,
		HostMS: st.LastPassMS, CallMS: float64(t.elapsed.Microseconds()) / 1000, Taken: p.taken.of(id, row.Pass),
		Fold: row.FoldReason, Head: st.Head, History: st.History,
	}
	if pass.Published, err = p.publishedSince(ctx, ses, id); err != nil {
		return err
	}
	p.report.Passes = append(p.report.Passes, pass)

	isBust := commonPrefix(ses.before, t.after) < visible(ses.before)
	isUnknown := ses.isContinued && !ses.isSeen // the trace does not show the session's previous wire
	// A harness may ask for the system prompt before the pass. If that prompt has changed, the journal contains a bust
	// although the messages are the same. The cause of this bust is known, so the replay must not call it unexplained.
	if isBust != row.Bust && !isUnknown && row.BustCause != pipeline.BustSystem {
		pass.BustCause = pipeline.BustUnexplained
		pass.Bust = true
	}
	for _, name := range broken(observation{t.answer.Verdict, t.grew, ses.before, t.after, ses.dropped}) {
		p.report.InvariantViolations = append(p.report.InvariantViolations, Finding{pass.Pass, name, ""})
	}
	of, npm := p.modelOf(ses.mirror, t.params)
	profile := render.ProfileOf(of.Provider, npm)
	ses.route = route.Of(of, npm)
	ses.route.Cliff = model.CliffOf(p.configOf(t.params.Directory), of)
	pass.Route = ses.route.Name
	for _, v := range render.Validate(profile, t.after, render.Whole(t.after, st.BindsThinking)) {
		p.report.ValidatorHits = append(p.report.ValidatorHits, Finding{pass.Pass, v.Rule, v.Message})
	}
	if of.ID != "" {
		pass.Model = of.Provider + "/" + of.ID
	}
	pass.WindowTokens = st.ContextTokens
	if p.overrides.window > 0 && st.ContextTokens == 0 {
		return fmt.Errorf("a window of %d tokens is none that the host believes", p.overrides.window)
	}
	percent, _ := config.Threshold(p.configOf(t.params.Directory), of.Provider, of.ID, st.ContextTokens)
	pass.ThresholdTokens = int(percent / 100 * float64(st.ContextTokens))
	ses.isSeen, ses.last = true, pass
	ses.before, ses.pending, ses.at, ses.model = t.after, pass, p.clock.Now(), of.Provider+"/"+of.ID
	ses.wires = ses.wires[:0]
	for _, r := range t.after {
		ses.wires = append(ses.wires, r.Wire)
	}
	if ses.raws, err = ses.mirror.raws(); err != nil {
		return err
	}
	if p.watch != nil {
		p.watch(Sent{pass, profile.Name, st.BindsThinking, ses.mirror})
	}
	return nil
}

// system replays a request for the system prompt. The answer completes the request to the model, so settle can then
// bill that request.
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
		return nil // this is a request without a pass, for example for a title
	}
	ses := p.session(params.Session)
	ses.system, ses.rawSystem = r.System, params.System
	p.settle(ses)
	return nil
}

func (p *player) systemComesFirst() bool { return p.trace.codec.Vocabulary().System.ComesFirst }

func (p *player) settle(ses *session) {
	if ses.pending == nil {
		return
	}
	ses.pending.Tokens, ses.pending.Sources = ses.ours.request(ses.at, ses.model, ses.route, prompt{ses.system, ses.wires, len(ses.mirror.head)})
	var plain Sources
	ses.pending.Raw, plain = ses.plain.request(ses.at, ses.model, ses.route, prompt{system: ses.rawSystem, messages: ses.raws})
	ses.pending.Sources.Guidance = max(0, ses.pending.Sources.System-plain.System)
	ses.pending.Sources.System -= ses.pending.Sources.Guidance
	if h := ses.pending.Head; h != nil {
		ses.pending.Sources.Memories = min(h.Sections.Memories, ses.pending.Sources.Head)
		ses.pending.Sources.Head -= ses.pending.Sources.Memories
	}
	ses.pending.price = p.price
	ses.pending.Bill = promptcache.Bill(ses.pending.Tokens.Billed(ses.route.Cliff), p.price)
	ses.pending.RawBill = promptcache.Bill(ses.pending.Raw.Billed(ses.route.Cliff), p.price)
	p.billAlone(ses)
	ses.counted = &ses.pending.Tokens
	ses.pending = nil
}

func (p *player) session(id string) *session {
	ses, ok := p.sessions[id]
	if !ok {
		ses = &session{isRecorded: p.trace.cassette.hasTakes() && p.overrides.areNone(), mirror: newMirror(p.trace.codec), dropped: make(map[string]bool), ours: newBiller(), plain: newBiller(), alone: &alone{of: p.trace.codec.Vocabulary().Compaction}}
		p.sessions[id] = ses
		p.report.sessions = append(p.report.sessions, func() { p.settle(ses) })
	}
	return ses
}

// modelOf returns the model that the shim names. If the shim names none, it returns the model of the newest user
// message. The second result is the npm package that the recorded catalogue names for the model.
func (p *player) modelOf(m *mirror, params schema.TransformParams) (schema.Model, string) {
	var model schema.Model
	if params.Model != nil {
		model = *params.Model
	}
	for i := len(m.entries) - 1; i >= 0 && params.Model == nil; i-- {
		d := m.codec.Decode(m.entries[i].raw)
		if d.Role == transcript.User && d.Model.ID != "" {
			model = d.Model
			break
		}
	}
	limits, err := p.overrides.limits(p.trace, schema.ModelLimitsParams{Directory: params.Directory, Model: model})
	if err == nil && limits.Price.Fresh > 0 {
		p.price = route.Of(model, limits.NPM).Price(limits.Price)
	}
	if price, ok := p.overrides.price(model); ok { // the trace may lack the limits
		p.price, p.isPriced = route.Of(model, limits.NPM).Price(price), true
	}
	return model, limits.NPM
}
