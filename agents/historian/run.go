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

	"github.com/magicctx/magicctx-host/agents/ask"
)

// The names of the agents in the harness. Their prefix keeps them apart from the
// user's own agents.
const (
	Agent       = "magicctx-historian"
	EditorAgent = "magicctx-historian-editor"
)

const (
	// DefaultTimeout bounds one question.
	DefaultTimeout = 5 * time.Minute
	// DefaultRunTimeout bounds the questions to the historian together. It has
	// room for a question, its repair and one other model.
	DefaultRunTimeout = 15 * time.Minute
)

// A Job is one chunk to be summarised.
type Job struct {
	Session string
	Chunk   Chunk
	// Raw are the messages of the chunk.
	Raw []Message
	// References are the session's newest compartments, oldest first.
	References []Reference
	// Memories are the facts that the project remembers.
	Memories []Memory
	// WithoutFacts takes no facts: the user has switched memory off, or the same
	// messages gave their facts before.
	WithoutFacts bool
	// KeepLast keeps the last compartment even if it ends where the chunk ends.
	// The host sets it when it needs the room, or will not read on.
	KeepLast bool
	// Edit asks the editor to improve a valid answer.
	Edit bool
	// Models are the models to try, as "provider/model". Without any, the harness
	// chooses the first one.
	Models []string
	// LiveModel is the model of the session. It is tried last.
	LiveModel string
	// Timeout bounds one question, and RunTimeout all questions to the historian.
	// 0 means the default.
	Timeout, RunTimeout time.Duration
}

// Ports are what a run needs of its surroundings.
type Ports struct {
	Asker ask.Asker
	// Sleep waits for d or until ctx ends. If it is nil, the run waits on the
	// machine's clock.
	Sleep func(ctx context.Context, d time.Duration) error
}

// MadeBy says how compartments were made, from the best way to the weakest.
type MadeBy string

const (
	ByModel      MadeBy = "model"      // the first model's first answer was valid
	ByRepair     MadeBy = "repaired"   // its second answer was valid
	ByFallback   MadeBy = "fallback"   // another model's answer was valid
	ByExtraction MadeBy = "extractive" // no answer was valid
)

// A Result is ready to be published. Its compartments follow each other without a
// gap from the first message of the chunk on.
type Result struct {
	Compartments []Compartment
	Facts        []Fact
	Events       []Event
	Observations []string
	// Next is the first ordinal that no compartment covers.
	Next int
	// Discarded says that the answer's last compartment was left to the next run.
	// Facts and Observations are then empty: they name no range, so they may come
	// from the messages that the next run reads again.
	Discarded bool
	MadeBy    MadeBy
	// Model is the model whose answer was taken. It is empty for extractive
	// compartments, or if the harness does not name it.
	Model string
	// Edited says that the tiers are the editor's.
	Edited bool
	// Attempts are the questions that were asked, in order, with the reason why
	// each answer was not taken.
	Attempts []Attempt
}

// An Attempt is one question of a run.
type Attempt struct {
	// Agent and Model are those of the question. Model is empty if the harness
	// was to choose.
	Agent, Model string
	Repair       bool
	Usage        ask.Usage
	// Kind is the kind of failure, or empty if an answer came.
	Kind ask.Kind
	// Problem says why the answer was not taken. It is empty for an answer that
	// was. It holds no content of the session, but may hold a provider's message.
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
		sum += c.Receipt.Score
	}
	return sum / float64(max(1, len(r.Compartments)))
}

// ShorterMayHelp reports whether a model may manage a shorter chunk: after an
// invalid answer, a timeout, or a prompt that was too long. A wrong key stays
// wrong.
func (r *Result) ShorterMayHelp() bool {
	return r.MadeBy == ByExtraction && shorterMayHelp(r.Attempts)
}

func shorterMayHelp(attempts []Attempt) bool {
	return slices.ContainsFunc(attempts, func(a Attempt) bool {
		return a.Kind == "" || a.Kind == ask.TimedOut || a.Kind == ask.Overflow
	})
}

// Run summarises a chunk. It asks the first model; if the answer is invalid, it
// asks once for a repair; then it asks the other models, the session's own last.
// Every answer is validated. If none is valid, or a failure is final (see
// ask.Kind), the compartments are extractive. So a bad model costs fidelity and
// never progress.
//
// Run fails only if ctx ends, if the harness aborts the agent, or if the chunk
// contradicts itself. It then returns the attempts alone, and nothing may be
// published.
func Run(ctx context.Context, j Job, p Ports) (Result, error) {
	r, best, err := summarise(ctx, &j, p)
	switch {
	case err != nil:
		return Result{Attempts: r.attempts}, err
	case best == nil:
		return r.extractive(), nil
	default:
		return r.result(best), nil
	}
}

// summarise asks for a valid answer, and has it edited. Without one, it returns no
// candidate.
func summarise(ctx context.Context, j *Job, p Ports) (*run, *candidate, error) {
	r := &run{job: j, ports: p}
	if err := j.Chunk.check(); err != nil {
		return r, nil, fmt.Errorf("summarise messages of session %s: %w", j.Session, err)
	}
	r.prompt = Prompt(j)
	best, err := r.answer(ctx)
	if err == nil && best != nil && j.Edit {
		err = r.edit(ctx, best)
	}
	if err != nil {
		return r, nil, fmt.Errorf("summarise messages %d-%d of session %s: %w", j.Chunk.Start, j.Chunk.End, j.Session, err)
	}
	return r, best, nil
}

// A run is the state of one Run.
type run struct {
	job      *Job
	ports    Ports
	prompt   string
	attempts []Attempt
}

// A candidate is a valid answer.
type candidate struct {
	text         string
	draft        Draft
	compartments []Compartment
	madeBy       MadeBy
	model        string
	edited       bool
}

// answer returns the first valid answer, or nil if there is none. The error is
// that of an aborted run.
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

// firstValid asks until an answer is valid. Otherwise it returns the last failure,
// or nil if the last answer was invalid.
func (r *run) firstValid(ctx context.Context) (*candidate, *ask.Error) {
	models := r.models()
	prompt, repair := r.prompt, false
	text, problem := r.ask(ctx, models[0], prompt, false)
	if problem == nil {
		c, invalid := r.check(text, ByModel)
		if invalid == nil {
			return c, nil
		}
		prompt, repair = repairPrompt(r.prompt, cutAnswer(text), invalid), true
		if text, problem = r.ask(ctx, models[0], prompt, true); problem == nil {
			if c, invalid = r.check(text, ByRepair); invalid == nil {
				return c, nil
			}
		}
	}
	for _, model := range models[1:] {
		if problem != nil && problem.Kind.Final() {
			break
		}
		if text, problem = r.ask(ctx, model, prompt, repair); problem == nil {
			if c, invalid := r.check(text, ByFallback); invalid == nil {
				return c, nil
			}
		}
	}
	return nil, problem
}

var errRunTimeout = errors.New("the historian has used up its time")

// models returns the models to ask, at least one. "" is the harness's choice.
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

// backoff returns how long to wait before the retry of a transient failure: 2 to
// 3 seconds, then 6 to 8. The fraction depends on session and chunk, so that
// sessions that failed together do not come back together.
func (r *run) backoff(retry int) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(r.job.Session + ":" + strconv.Itoa(r.job.Chunk.Start)))
	share := time.Duration(h.Sum32() % 1000)
	if retry == 0 {
		return 2*time.Second + share*time.Millisecond
	}
	return 6*time.Second + 2*share*time.Millisecond
}

// transientRetries is how often one model is asked again after a transient
// failure.
const transientRetries = 2

// ask asks a model, and again after transient failures. An empty answer is a
// failure: providers give one instead of an error.
func (r *run) ask(ctx context.Context, model, prompt string, repair bool) (string, *ask.Error) {
	question := ask.Request{Agent: Agent, Model: model, System: System(), Prompt: prompt, Timeout: cmp.Or(r.job.Timeout, DefaultTimeout)}
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

// once asks one question and keeps the attempt.
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
	a.Kind, a.Problem = problem.Kind, cut(oneLine(problem.Error()), maxProblem)
	return "", problem
}

// maxProblem bounds what is kept of an error, in runes.
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

// check validates the newest answer.
func (r *run) check(text string, madeBy MadeBy) (*candidate, error) {
	newest := &r.attempts[len(r.attempts)-1]
	c := &candidate{text: text, draft: Parse(text), madeBy: madeBy, model: newest.Model}
	var err error
	if c.compartments, err = Validate(c.draft, &r.job.Chunk); err != nil {
		newest.Problem = cut(err.Error(), maxProblem)
		return nil, err
	}
	return c, nil
}

// maxRepaired bounds how much of an invalid answer the repair prompt shows, in
// runes. An endless answer would make the prompt too long.
const maxRepaired = 60_000

func cutAnswer(text string) string { return cut(clean(text), maxRepaired) }

// edit asks the editor for better tiers. Everything else stays the draft's. If
// the editor fails or changes more than tiers, the draft stays.
func (r *run) edit(ctx context.Context, draft *candidate) error {
	question := ask.Request{Agent: EditorAgent, System: EditorSystem(), Prompt: editPrompt(draft.text), Timeout: cmp.Or(r.job.Timeout, DefaultTimeout)}
	text, problem := r.once(ctx, question, false)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if problem != nil {
		return nil
	}
	edited, err := r.check(text, draft.madeBy)
	if err != nil {
		return nil
	}
	if !sameRanges(edited.compartments, draft.compartments) {
		r.attempts[len(r.attempts)-1].Problem = "the editor has changed titles or ranges"
		return nil
	}
	for i := range draft.compartments {
		draft.compartments[i].Tiers = edited.compartments[i].Tiers
	}
	draft.edited = true
	return nil
}

func sameRanges(a, b []Compartment) bool {
	return slices.EqualFunc(a, b, func(a, b Compartment) bool { return a.Range == b.Range && a.Title == b.Title })
}

// result makes a valid answer ready to be published.
func (r *run) result(c *candidate) Result {
	kept, discarded := c.compartments, false
	if !r.job.KeepLast {
		kept, discarded = discardLast(kept, &r.job.Chunk)
	}
	res := Result{
		Compartments: kept,
		Events:       eventsOf(c.draft.Events, len(kept)),
		Discarded:    discarded,
		MadeBy:       c.madeBy,
		Model:        c.model,
		Edited:       c.edited,
	}
	if !discarded {
		res.Observations = c.draft.Observations
		if !r.job.WithoutFacts {
			res.Facts = c.draft.Facts
		}
	}
	return r.finish(res)
}

// eventsOf returns the events of the compartments that were kept.
func eventsOf(all []Event, kept int) []Event {
	var events []Event
	for _, e := range all {
		if e.Compartment <= kept {
			events = append(events, e)
		}
	}
	return events
}

func (r *run) extractive() Result {
	return r.finish(Result{Compartments: Extract(&r.job.Chunk, r.job.Raw), MadeBy: ByExtraction})
}

// Extractive is the result of a run that asks no model.
func Extractive(j Job) (Result, error) {
	if err := j.Chunk.check(); err != nil {
		return Result{}, fmt.Errorf("summarise messages of session %s by rule: %w", j.Session, err)
	}
	r := run{job: &j}
	return r.extractive(), nil
}

// finish adds what all results have, however they were made.
func (r *run) finish(res Result) Result {
	for i := range res.Compartments {
		c := &res.Compartments[i]
		c.Receipt = Measure(within(r.job.Raw, c.Range), c.Title, c.Tiers)
	}
	res.Next = res.Compartments[len(res.Compartments)-1].End + 1
	res.Attempts = r.attempts
	return res
}
