package historian

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/tokens"
)

const (
	Agent       = "magicctx-historian"
	EditorAgent = "magicctx-historian-editor"
)

const (
	// DefaultTimeout bounds one question.
	DefaultTimeout = 5 * time.Minute
	// DefaultRunTimeout limits the total time of a run's questions to the historian. It is enough for a question, its
	// repair, and a question to one other model.
	DefaultRunTimeout = 15 * time.Minute
)

type Job struct {
	Session string
	Chunk   Chunk
	// Raw returns the chunk's messages. Run calls Raw only to check an answer or to write extractive compartments.
	Raw func() []Message
	// References are the session's newest compartments, oldest first.
	References []chronicle.Compartment
	Memories   []chronicle.Memory
	// Open are the project's open promises, oldest first.
	Open []chronicle.Note
	// WithoutFacts discards facts, observations and promises. The host sets it if the user has switched memory off, or
	// if the facts of the chunk were published before.
	WithoutFacts bool
	// Observes allows observations about the user. The host sets it if the user has consented.
	Observes bool
	// KeepLast keeps the last compartment even if it ends at the end of the chunk. The host sets it if it needs the
	// space, or if no later run will continue the compartment.
	KeepLast bool
	// CanWait means that the host can ask a model again later. So if no answer is valid, the run ends without
	// compartments, and does not write extractive ones.
	CanWait bool
	// Edit asks the editor to improve a valid answer.
	Edit bool
	// Models are the models to try, as "provider/model". If the list is empty, the harness chooses.
	Models []string
	// LiveModel is the session's own model. The run tries it last.
	LiveModel string
	// Timeout bounds one question, and RunTimeout all questions to the historian. 0 means the default.
	Timeout, RunTimeout time.Duration
}

type Ports struct {
	Asker ask.Asker
	// Sleep waits for d or until ctx ends. If Sleep is nil, the run uses a timer.
	Sleep func(ctx context.Context, d time.Duration) error
}

// A Result is ready to be published. Its compartments cover the chunk from its first message, without gaps. If
// Job.CanWait is set, a Result may have no compartments.
type Result struct {
	Compartments []chronicle.Compartment
	Facts        []chronicle.Fact
	// Observations are about the user.
	Observations []chronicle.Observation
	// Promises are new promises from the covered messages. Closed are earlier promises that these messages close.
	Promises []chronicle.Promise
	Closed   []chronicle.Closing
	// Unconfirmed counts the parts of the answer that the raw messages do not confirm.
	Unconfirmed Unconfirmed
	// Next is the first ordinal without a compartment. Facts about messages from Next on are left to the next run.
	Next int
	// Discarded means that the last compartment was removed. The next run will summarise its messages again.
	Discarded bool
	MadeBy    chronicle.MadeBy
	// Model is the model that gave the accepted answer. It is "" for extractive compartments, or if the harness did not
	// report the model.
	Model string
	// Edited means that the editor wrote the tiers.
	Edited bool
	// Attempts are all questions, in order. If an answer was rejected, its attempt has the reason.
	Attempts []Attempt
}

// An Attempt is one question of a run.
type Attempt struct {
	// Model is "" if the choice was left to the harness.
	Agent, Model string
	Repair       bool
	Usage        ask.Usage
	// Kind says how the question failed. It is "" if a model answered, even if the answer was invalid.
	Kind ask.Kind
	// Problem is the reason why the answer was rejected or is missing, or "". It may quote a provider's message, but
	// contains nothing from the session.
	Problem string
}

// Usage returns the tokens of all questions of the run.
func (r *Result) Usage() ask.Usage {
	var sum ask.Usage
	for _, a := range r.Attempts {
		sum = sum.Plus(a.Usage)
	}
	return sum
}

// Fidelity returns the mean score of the compartments' receipts.
func (r *Result) Fidelity() float64 {
	sum := 0.0
	for _, c := range r.Compartments {
		sum += c.Fidelity
	}
	return sum / float64(max(1, len(r.Compartments)))
}

// ShorterMayHelp reports whether a model might succeed with a shorter chunk. That is likely after an invalid answer, a
// timeout or a prompt that was too long. A wrong API key, for example, fails with any chunk.
func (r *Result) ShorterMayHelp() bool {
	return (r.MadeBy == chronicle.ByExtraction || len(r.Compartments) == 0) && shorterMayHelp(r.Attempts)
}

func shorterMayHelp(attempts []Attempt) bool {
	return slices.ContainsFunc(attempts, func(a Attempt) bool {
		return a.Kind == "" || a.Kind == ask.TimedOut || a.Kind == ask.Overflow
	})
}

// Run summarises a chunk. It asks the first model. If the answer is invalid and not longer than maxRepaired, it asks
// once for a repair. Then it asks the other models, and the session's own model last. If no answer is valid, or if a
// failure is final (see ask.Kind), Run returns extractive compartments, or none if the job can wait. So a bad model
// makes summaries worse, but never stops the progress.
//
// Run fails if ctx ends, if the harness aborts the agent, or if the chunk contradicts itself. Run then returns only the
// attempts, and the caller must publish nothing.
func Run(ctx context.Context, j Job, p Ports) (Result, error) {
	r, best, err := summarise(ctx, &j, p)
	switch {
	case err != nil:
		return Result{Attempts: r.attempts}, err
	case best == nil && j.CanWait:
		return Result{Next: j.Chunk.Start, Attempts: r.attempts}, nil
	case best == nil:
		return r.extractive(), nil
	default:
		return r.result(best), nil
	}
}

// summarise asks the models for an answer. If Job.Edit is set, it then asks the editor to improve a valid answer. The
// candidate is nil if no answer was valid.
func summarise(ctx context.Context, j *Job, p Ports) (*run, *candidate, error) {
	r := &run{job: j, ports: p}
	if err := j.Chunk.check(); err != nil {
		return r, nil, fmt.Errorf("summarise messages of session %s: %w", j.Session, err)
	}
	r.prompt = Prompt(j)
	best, err := r.answer(ctx)
	if err == nil && best != nil && j.Edit && utf8.RuneCountInString(best.text) <= maxRepaired {
		err = r.edit(ctx, best)
	}
	if err != nil {
		return r, nil, fmt.Errorf("summarise messages %d-%d of session %s: %w", j.Chunk.Start, j.Chunk.End, j.Session, err)
	}
	return r, best, nil
}

type run struct {
	job      *Job
	ports    Ports
	prompt   string
	attempts []Attempt
}

type candidate struct {
	text         string
	draft        Draft
	compartments []chronicle.Compartment
	promises     []chronicle.Promise
	closed       []chronicle.Closing
	unconfirmed  Unconfirmed
	madeBy       chronicle.MadeBy
	model        string
	edited       bool
}

// answer returns the first valid answer, or nil. It returns an error only if the run was aborted.
func (r *run) answer(ctx context.Context) (*candidate, error) {
	bound, cancel := context.WithTimeoutCause(ctx, cmp.Or(r.job.RunTimeout, DefaultRunTimeout), errRunTimeout)
	defer cancel()
	c, problem := r.firstValid(bound)
	switch {
	case c != nil:
		return c, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case problem != nil && problem.Kind == ask.Aborted:
		return nil, problem
	}
	return nil, nil
}

// firstValid returns the first valid answer. If no answer was valid, it returns the failure of the last question. If a
// model did answer the last question, but with an invalid answer, the failure is nil.
func (r *run) firstValid(ctx context.Context) (*candidate, *ask.Error) {
	models := r.models()
	prompt, repair := r.prompt, false
	text, problem := r.ask(ctx, models[0], prompt, false)
	if problem == nil {
		c, invalid := r.check(text, chronicle.ByModel)
		if invalid == nil {
			return c, nil
		}
		if utf8.RuneCountInString(text) <= maxRepaired {
			prompt, repair = repairPrompt(r.prompt, clean(text), invalid), true
			if text, problem = r.ask(ctx, models[0], prompt, true); problem == nil {
				if c, invalid = r.check(text, chronicle.ByRepair); invalid == nil {
					return c, nil
				}
			}
		}
	}
	for _, model := range models[1:] {
		if problem != nil && problem.Kind.Final() {
			break
		}
		if r.hasAnswered(model) {
			continue // the harness chose this model for an earlier question, and its one repair is used up
		}
		if text, problem = r.ask(ctx, model, prompt, repair); problem == nil {
			if c, invalid := r.check(text, chronicle.ByFallback); invalid == nil {
				return c, nil
			}
		}
	}
	return nil, problem
}

func (r *run) hasAnswered(model string) bool {
	return slices.ContainsFunc(r.attempts, func(a Attempt) bool { return a.Model == model && a.Kind == "" })
}

var errRunTimeout = errors.New("the historian has used up its time")

// models returns at least one name. The name "" lets the harness choose.
func (r *run) models() []string {
	models := ask.Models(r.job.Models...)
	if len(models) == 0 {
		models = []string{""}
	}
	if live := ask.Models(r.job.LiveModel); len(live) > 0 && !slices.Contains(models, live[0]) {
		models = append(models, live[0])
	}
	return models
}

// backoff returns how long to wait before the retry of a transient failure: first 2 to 3 seconds, then 6 to 8. The
// exact time depends on session and chunk, so that sessions that failed together do not retry together.
func (r *run) backoff(retry int) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(r.job.Session + ":" + strconv.Itoa(r.job.Chunk.Start)))
	share := time.Duration(h.Sum32() % 1000)
	if retry == 0 {
		return 2*time.Second + share*time.Millisecond
	}
	return 6*time.Second + 2*share*time.Millisecond
}

// The limit for the length of an answer is the constant `thinking` plus half of the chunk's tokens. We expect the
// answer itself to have 500 tokens plus a quarter of the chunk's tokens (history.RunCost). The rest is for the model's
// thinking. For example, in the scene 64k of e2e/bill, the answers had 1,481 to 2,019 tokens, and the limit was 8,500.
// If an answer exceeds the limit, the provider cuts it, and a cut answer is invalid.
const thinking = 6_000

// If a model fails for a moment, it is asked at most transientRetries more times.
const transientRetries = 2

// ask asks one model, and retries after transient failures. An empty answer counts as a failure, because some providers
// send one instead of an error.
func (r *run) ask(ctx context.Context, model, prompt string, repair bool) (string, *ask.Error) {
	question := ask.Request{Agent: Agent, Model: model, System: System(), Prompt: prompt, Timeout: cmp.Or(r.job.Timeout, DefaultTimeout)}
	question.MaxOutput = thinking + tokens.Count(r.job.Chunk.Text)/2
	for retry := 0; ; retry++ {
		text, problem := r.once(ctx, question, repair)
		if problem == nil || problem.Kind != ask.Transient || retry == transientRetries {
			return text, problem
		}
		if err := r.sleep(ctx, r.backoff(retry)); err != nil {
			return "", &ask.Error{Kind: ask.Classify(ctx.Err()), Err: err}
		}
	}
}

func (r *run) once(ctx context.Context, question ask.Request, repair bool) (string, *ask.Error) {
	a := Attempt{Agent: question.Agent, Model: question.Model, Repair: repair}
	defer func() { r.attempts = append(r.attempts, a) }()
	answer, err := ask.Once(ctx, r.ports.Asker, question)
	if err == nil && strings.TrimSpace(answer.Text) == "" {
		err = &ask.Error{Kind: ask.Other, Err: errors.New("the answer is empty")}
	}
	a.Model, a.Usage = cmp.Or(answer.Model, a.Model), answer.Usage
	if err == nil {
		return answer.Text, nil
	}
	var problem *ask.Error
	if !errors.As(err, &problem) {
		problem = &ask.Error{Kind: ask.Classify(err), Err: err}
	}
	if problem.Kind == ask.TimedOut && a.Usage == (ask.Usage{}) {
		a.Usage.Input = question.Tokens() // the provider reported no usage, but the model has probably read the prompt
	}
	a.Kind, a.Problem = problem.Kind, cut(oneLine(reasonOf(problem).Error()), maxProblem)
	return "", problem
}

// reasonOf returns the error without the names of its agent and model, because the Attempt already has them.
func reasonOf(problem *ask.Error) error {
	if reason := errors.Unwrap(problem.Err); reason != nil {
		return reason
	}
	return problem
}

// maxProblem bounds how much of an error is stored, in runes.
const maxProblem = 300

func (r *run) sleep(ctx context.Context, d time.Duration) error {
	if r.ports.Sleep != nil {
		return r.ports.Sleep(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// check parses and validates an answer. It removes from a valid answer all statements that the raw messages do not
// confirm.
func (r *run) check(text string, madeBy chronicle.MadeBy) (*candidate, *Invalid) {
	newest := &r.attempts[len(r.attempts)-1]
	c := &candidate{text: text, draft: Parse(text), madeBy: madeBy, model: newest.Model}
	var err error
	c.compartments, err = Validate(c.draft, &r.job.Chunk)
	if invalid, ok := errors.AsType[*Invalid](err); ok {
		newest.Problem = cut(invalid.Error(), maxProblem)
		return nil, invalid
	}
	c.confirm(r.job)
	return c, nil
}

// maxRepaired is the largest size, in runes, of an answer that is sent back for a repair or to the editor. In a longer
// answer, the model has probably repeated itself without end. It would do so again, at the same price.
const maxRepaired = 60_000

// edit asks the editor to improve the draft's tiers. If the editor fails, or changes a title or a range, the draft
// stays unchanged.
func (r *run) edit(ctx context.Context, draft *candidate) error {
	question := ask.Request{Agent: EditorAgent, System: EditorSystem(), Prompt: editPrompt(draft.text), Timeout: cmp.Or(r.job.Timeout, DefaultTimeout)}
	question.MaxOutput = thinking + 2*tokens.Count(draft.text)
	text, problem := r.once(ctx, question, false)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if problem != nil {
		return nil
	}
	edited, invalid := r.check(text, draft.madeBy)
	if invalid != nil {
		return nil
	}
	if !sameRanges(edited.compartments, draft.compartments) {
		r.attempts[len(r.attempts)-1].Problem = "the editor has changed titles or ranges"
		return nil
	}
	for i := range draft.compartments {
		draft.compartments[i].Tiers = edited.compartments[i].Tiers
	}
	draft.unconfirmed.Quotes = edited.unconfirmed.Quotes
	draft.edited = true
	return nil
}

func sameRanges(a, b []chronicle.Compartment) bool {
	return slices.EqualFunc(a, b, func(a, b chronicle.Compartment) bool { return a.Range() == b.Range() && a.Title == b.Title })
}

func (r *run) result(c *candidate) Result {
	kept, discarded := c.compartments, false
	if !r.job.KeepLast {
		kept, discarded = discardLast(kept, &r.job.Chunk)
	}
	return r.finish(Result{
		Compartments: kept,
		Facts:        factsUntil(kept[len(kept)-1].End, c.draft.Facts),
		Observations: observationsUntil(kept[len(kept)-1].End, c.draft.Observations),
		Promises:     slices.DeleteFunc(c.promises, func(p chronicle.Promise) bool { return p.Message > kept[len(kept)-1].End }),
		Closed:       slices.DeleteFunc(c.closed, func(p chronicle.Closing) bool { return p.Message > kept[len(kept)-1].End }),
		Unconfirmed:  c.unconfirmed,
		Discarded:    discarded,
		MadeBy:       c.madeBy,
		Model:        c.model,
		Edited:       c.edited,
	})
}

func factsUntil(last int, all []chronicle.Fact) []chronicle.Fact {
	return slices.DeleteFunc(slices.Clone(all), func(f chronicle.Fact) bool { return f.Source.End > last })
}

func (r *run) extractive() Result {
	return r.finish(Result{Compartments: Extract(&r.job.Chunk, r.job.Raw()), MadeBy: chronicle.ByExtraction})
}

// Extractive returns the result of a run without a model.
func Extractive(j Job) (Result, error) {
	if err := j.Chunk.check(); err != nil {
		return Result{}, fmt.Errorf("summarise messages of session %s by rule: %w", j.Session, err)
	}
	r := run{job: &j}
	return r.extractive(), nil
}

// finish sets the fields that all results have.
func (r *run) finish(res Result) Result {
	for i := range res.Compartments {
		c := &res.Compartments[i]
		receipt := Measure(within(r.job.Raw(), c.Range()), c.Title, c.Tiers)
		c.Missing, c.Rules, c.Fidelity = receipt.Missing, receipt.Rules, receipt.Score
		c.MadeBy, c.Model = res.MadeBy, res.Model
	}
	res.Next = res.Compartments[len(res.Compartments)-1].End + 1
	res.Attempts = r.attempts
	return res
}
