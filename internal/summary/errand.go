package summary

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/agents/historian"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/work"
)

// An errand is all runs that one command of the user starts: a recomp or a wrap-up. It works in the background and
// holds the session's lease until it ends. Passes continue meanwhile.
type errand struct {
	*run
	host *Historian
	// `noun` is the name of the errand in texts for the user, for example "wrap-up". `command` is the command that
	// began it.
	noun, command string
	// `scope` is the range of messages that the errand summarises, and `next` is the first of them without a new
	// summary. If the errand continues an interrupted one, `next` starts in the middle of the scope.
	scope  chronicle.Range
	next   int
	source session.RawSource
	codec  transcript.Codec
	// The function `save` stores the result of one chunk. The function `finish` completes the errand, for example by
	// replacing compartments, and returns the text for the user. The caller of `finish` holds the session's lock.
	save   func(context.Context, historian.Result) error
	finish func(context.Context, *session.Session) (string, error)
	// If the errand fails, the function `kept` returns a sentence about the present state, for example "The old
	// summaries stay."
	kept func() string
	// If the user cancels the errand, the function `discard` removes stored results that are not visible yet. It is nil
	// if an errand of this kind has no such results.
	discard func(context.Context) error

	// `chunk` is the chunk that was read most recently, and `raw` holds its messages. `toldAt` is the time of the
	// newest notice. Only the errand's own goroutine uses these fields.
	chunk  historian.Chunk
	raw    []historian.Message
	toldAt int64
	// `attempts` lists the requests to models whose usage is not stored yet.
	attempts []historian.Attempt
	// `done` is the ordinal of the last message with a new summary.
	done atomic.Int64
}

// These causes end a run early. They are not failures of the historian.
var (
	ErrCancelled = fmt.Errorf("you have cancelled it: %w", context.Canceled)
	errReverted  = fmt.Errorf("messages that it read were taken back: %w", context.Canceled)
	errRescued   = fmt.Errorf("the window was nearly full, and there was no time to wait for it: %w", context.Canceled)
	errYielded   = fmt.Errorf("the window was filling up, so that newer messages had to be summarised first: %w", context.Canceled)
)

// A refusedCommand is a text that explains to the user why a command does nothing.
type refusedCommand string

func (r refusedCommand) Error() string { return string(r) }

// Each session has at most one running errand.
type errands struct {
	mu    sync.Mutex
	under map[store.Key]*errand
}

func (es *errands) of(key store.Key) *errand {
	es.mu.Lock()
	defer es.mu.Unlock()
	return es.under[key]
}

// The method `cancel` ends the session's errand if the user began it with `command`. If there is no such errand, for
// example because it has just ended, the method returns false.
func (es *errands) cancel(key store.Key, command string) bool {
	es.mu.Lock()
	defer es.mu.Unlock()
	e := es.under[key]
	if e == nil || e.command != command {
		return false
	}
	e.run.cancel(ErrCancelled)
	return true
}

func (es *errands) set(key store.Key, e *errand) {
	es.mu.Lock()
	defer es.mu.Unlock()
	if es.under == nil {
		es.under = make(map[store.Key]*errand)
	}
	if e == nil {
		delete(es.under, key)
		return
	}
	es.under[key] = e
}

func (h *Historian) Running(key store.Key) *schema.HistoryRun {
	e := h.errands.of(key)
	if e == nil {
		return nil
	}
	return &schema.HistoryRun{Kind: e.kind, Since: e.started, Start: e.scope.Start, End: e.scope.End, Done: int(e.done.Load())}
}

// commandAnswer returns the answer to a command. A refused command also has an answer: the reason, as a warning.
func commandAnswer(variant, message string, err error) (schema.CommandExecuteResult, error) {
	var refused refusedCommand
	switch {
	case errors.As(err, &refused):
		variant, message = "warning", string(refused)
	case err != nil:
		return schema.CommandExecuteResult{}, err
	}
	return schema.CommandExecuteResult{Title: "magicctx", Variant: variant, Message: message}, nil
}

func (h *Historian) startErrand(ctx context.Context, c client.Client, key store.Key, directory string, prepare func(context.Context, *session.Session) (*errand, string, error)) (schema.CommandExecuteResult, error) {
	s, err := h.Sessions.Lock(ctx, key)
	if err != nil {
		return schema.CommandExecuteResult{}, err
	}
	defer s.Unlock()
	if err := h.readyForErrand(ctx, c, s, directory); err != nil {
		h.Guard.Wrote(err)
		return commandAnswer("", "", err)
	}
	e, text, err := prepare(ctx, s)
	if err == nil {
		err = h.launch(ctx, s, e)
	}
	if err != nil {
		h.Guard.Wrote(err)
	}
	return commandAnswer("info", text, err)
}

// readyForErrand reads the facts that an errand needs about its session. If the host has just started, no pass has
// read these facts yet.
func (h *Historian) readyForErrand(ctx context.Context, c client.Client, s *session.Session, directory string) error {
	if !s.Known {
		if _, err := h.Sessions.Load(ctx, s); err != nil {
			return err
		}
	}
	cfg := h.Clients.Config(s.Key.Harness, directory)
	switch {
	case s.Row.Passes == 0:
		return refusedCommand("This session has sent no request through magicctx yet.")
	case s.Mode().IsSubagent:
		return refusedCommand("A subagent's session is never summarised.")
	case !h.Summarises || cfg.Historian.Disable:
		return refusedCommand("The historian is switched off (historian.disable in magicctx.jsonc), so nothing can be summarised.")
	case stateOf(s).running != nil:
		return refusedCommand(h.busyWith(s))
	}
	if s.Pipe == nil {
		known, err := h.Sessions.ReadChronicle(ctx, s)
		if err != nil {
			return err
		}
		s.Chronicle = known
	}
	w := stateOf(s)
	if w.client == nil {
		m := schema.Model{Provider: s.Row.Provider, ID: s.Row.Model}
		limits, err := h.Models.Limits(ctx, c, directory, m)
		if err != nil {
			return err
		}
		w.passFacts = passFacts{config: cfg, model: m, limit: h.Models.Window(ctx, m, model.PromptLimit(limits)).Tokens, pass: s.Row.Passes}
		w.threshold, _ = config.Threshold(cfg, m.Provider, m.ID, w.limit)
	}
	w.client, w.directory = c, directory
	return nil
}

func (h *Historian) busyWith(s *session.Session) string {
	if e := h.errands.of(s.Key); e != nil {
		return fmt.Sprintf("A %s is under way: %s. /%s cancel ends it.", e.noun, e.progress(), e.command)
	}
	return "The historian is summarising messages of this session now. Try again when it has finished; /ctx-status shows when."
}

// newErrand fills in the fields that a recomp and a wrap-up have in common. The caller sets the fields that differ, for
// example `save` and `finish`.
func (h *Historian) newErrand(s *session.Session, scope chronicle.Range, next int) (*errand, error) {
	codec, err := client.CodecOf(s.Key.Harness)
	if err != nil {
		return nil, err
	}
	p := &run{key: s.Key, holder: h.Agents.NewHolder(), job: h.pattern(s), after: s.Chronicle.End, started: h.Clock.Now(), facts: stateOf(s).passFacts, project: s.Row.Project}
	e := &errand{run: p, host: h, scope: scope, next: next, codec: codec, toldAt: p.started}
	e.done.Store(int64(next - 1))
	return e, nil
}

// The method `launch` takes the lease and starts the errand in the background. The caller holds the session's lock.
func (h *Historian) launch(ctx context.Context, s *session.Session, e *errand) error {
	writing, cancel := h.Guard.Writing(ctx)
	defer cancel()
	acquired, err := h.lease(e.run).Acquire(writing)
	if err != nil {
		return err
	}
	if !acquired {
		return refusedCommand("Another run of the historian holds this session. Try again in five minutes.")
	}
	running, end := context.WithCancelCause(h.Background.Lifetime())
	e.cancel = end
	stateOf(s).running = e.run
	h.errands.set(s.Key, e)
	h.Publisher.Publish(s.Key)
	h.Log.Info("the historian begins", "session", s.Key.Session, "cause", e.reason, "from", e.next, "to", e.scope.End)
	h.Agents.Go(func() {
		defer end(nil)
		h.Background.Go(func() { h.lease(e.run).Keep(running, func() { end(work.ErrLeaseLost) }) })
		h.carryOut(running, e)
	})
	return nil
}

func (h *Historian) carryOut(ctx context.Context, e *errand) {
	result, err := e.summarise(ctx)
	if err == nil && result.Problem != "" {
		err = errors.New(result.Problem)
	}
	text, err := h.endErrand(ctx, e, result, err)
	switch {
	case h.Background.Lifetime().Err() != nil, errors.Is(err, ErrCancelled): // the host is stopping, or the user has cancelled the errand
	case err != nil:
		e.tell("warning", fmt.Sprintf("The %s stopped at message %d of %s: %s. %s", e.noun, e.done.Load()+1, e.scope, ReasonOf(err), e.kept()))
	default:
		e.tell("success", text)
	}
}

func (e *errand) summarise(ctx context.Context) (historian.ErrandResult, error) {
	limit, err := e.host.historianLimit(ctx, &e.facts)
	if err != nil {
		return historian.ErrandResult{Next: e.next}, err
	}
	e.job.Open = readPromises(ctx, e.host, e.key, e.project, math.MaxInt64)
	job := historian.Errand{Job: e.job, Range: chronicle.Range{Start: e.next, End: e.scope.End}, Budget: history.ChunkBudget(limit)}
	return historian.RunErrand(ctx, job, historian.ErrandPorts{Ports: portsOf(e.host.Agents, e), Chunk: e.read, Save: e.keep})
}

// ReasonOf returns the text of an error for the user.
func ReasonOf(err error) string {
	for _, cause := range []error{ErrCancelled, errReverted, errRescued, errYielded} {
		if errors.Is(err, cause) {
			return strings.TrimSuffix(cause.Error(), ": "+context.Canceled.Error())
		}
	}
	return format.Clean(err.Error())
}

// endErrand stores how an errand ended, and releases the session's lease.
func (h *Historian) endErrand(ctx context.Context, e *errand, result historian.ErrandResult, runErr error) (string, error) {
	h.errands.set(e.key, nil) // from here on, a user can no longer cancel the errand
	if cause := context.Cause(ctx); cause != nil {
		runErr = cause // a cancelled context explains every failure
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	s, err := h.Sessions.Lock(ctx, e.key)
	if err != nil {
		return "", err
	}
	defer s.Unlock()
	stateOf(s).running = nil
	var text string
	if runErr == nil {
		text, runErr = e.finish(ctx, s)
	}
	if runErr != nil {
		h.Guard.Wrote(runErr)
		h.recordEnd(ctx, e, result, runErr)
	}
	if e.discard != nil && errors.Is(runErr, ErrCancelled) {
		if err := e.discard(ctx); err != nil {
			h.Log.Warn("a cancelled recomp stays unfinished", "session", e.key.Session, "error", err)
		}
	}
	if err := h.lease(e.run).Release(ctx); err != nil {
		h.Log.Warn("the historian's lease is not released", "session", e.key.Session, "error", err)
	}
	h.Publisher.Publish(s.Key)
	return text, runErr
}

func (h *Historian) recordEnd(ctx context.Context, e *errand, result historian.ErrandResult, reason error) {
	h.Log.Warn("the historian has stopped", "session", e.key.Session, "cause", e.reason, "at", result.Next, "error", reason)
	p := *e.run
	p.job.Chunk.Start, p.job.Chunk.End = e.scope.Start, e.scope.End
	run := runRow(&p, historian.Result{Attempts: e.attempts})
	run.Status, run.Reason = work.Failed, ReasonOf(reason)
	if errors.Is(reason, work.ErrStale) || errors.Is(reason, context.Canceled) {
		run.Status = work.Noop
	}
	if err := h.Store.Runs.Record(ctx, store.HistorianOf(e.key), run, 0); err != nil {
		h.Log.Warn("a run of the historian is not recorded", "session", e.key.Session, "error", err)
	}
}

// Ask asks a model. The title tells the user which messages the model reads, for example "wrap-up 12-40".
func (e *errand) Ask(ctx context.Context, r ask.Request) (ask.Answer, error) {
	asker := askerOf(e.host, e.run)
	asker.Title = fmt.Sprintf("%s %d-%d", e.noun, e.chunk.Start, e.chunk.End)
	answer, err := asker.Ask(ctx, r)
	e.attempts = append(e.attempts, historian.Attempt{Model: answer.Model, Usage: answer.Usage})
	return answer, err
}

func (e *errand) keep(ctx context.Context, r historian.Result) error {
	if err := pass.Ended(ctx, "keep a summary"); err != nil { // the chunk's answer came too late
		return err
	}
	if err := e.save(ctx, r); err != nil {
		return err
	}
	e.done.Store(int64(r.Next - 1))
	e.host.Publisher.Publish(e.key)
	if now := e.host.Clock.Now(); now-e.toldAt >= noticeInterval.Milliseconds() && r.Next <= e.scope.End {
		e.toldAt = now
		e.tell("info", fmt.Sprintf("The %s goes on: %s.", e.noun, e.progress()))
	}
	return nil
}

func (e *errand) progress() string {
	return fmt.Sprintf("%d of %s are summarised", int(e.done.Load())-e.scope.Start+1, format.Count(e.scope.End-e.scope.Start+1, "message"))
}

// noticeInterval is the least time between two notices of progress. A notice covers a part of the screen, and a chunk
// takes about a minute, so the user sees about one notice for each chunk.
const noticeInterval = time.Minute

func (e *errand) tell(variant, message string) {
	e.host.Notices.Show(e.facts.client, e.key, e.facts.directory, variant, message)
}

// readAhead is how many messages `read` loads at first. A session may have thousands of messages, but a chunk has at
// most hundreds.
const readAhead = 256

// The method `read` returns the chunk at the beginning of a range. It implements historian.ErrandPorts.Chunk.
func (e *errand) read(ctx context.Context, r chronicle.Range, budget int) (historian.Chunk, []historian.Message, error) {
	decoded := make(map[int]*transcript.Message)
	var messages *history.Messages
	var list []history.Message
	var chunk history.Chunk
	for next, count := r.Start, readAhead; next <= r.End && !chunk.HasMore; count *= 2 {
		end := min(r.End, next+count-1)
		for n := next; n <= end; n++ { // an unreadable message is covered too, but adds no text
			list = append(list, history.Message{Ordinal: n})
		}
		extent, err := e.source(ctx, next, end, func(m rawhistory.Message) bool {
			if m.Decoded != nil {
				list[m.Ordinal-r.Start] = history.MessageOf(m.Decoded, m.Ordinal, 0)
				decoded[m.Ordinal] = m.Decoded
			}
			return true
		})
		if err != nil {
			return historian.Chunk{}, nil, err
		}
		if extent.First > next || extent.Last < end {
			return historian.Chunk{}, nil, fmt.Errorf("the harness has only messages %d-%d, so that %d-%d cannot be read", extent.First, extent.Last, next, end)
		}
		next = end + 1
		messages = history.NewMessages(list, end)
		chunk = history.ReadChunk(messages, r.Start, next, budget, tokens.Count)
	}
	chunk.Truncate(budget, tokens.Count)
	if err := chunk.CheckCoverage(); err != nil {
		return historian.Chunk{}, nil, err
	}
	e.chunk, e.raw = chunkOf(chunk), rawOf(messages, func(n int) *transcript.Message { return decoded[n] }, chunk.Range, e.codec.Vocabulary())
	return e.chunk, e.raw, nil
}
