package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// An Asker runs a hidden agent on one prompt.
//
// Ask returns soon after ctx has ended. By then it has stopped the agent in the
// harness as well: an agent whose client merely hangs up goes on calling tools.
// An error of type *Error says what kind of failure it is. Other errors are
// classified by Classify.
type Asker interface {
	Ask(ctx context.Context, r Request) (Answer, error)
}

// A Request is one question to a hidden agent, for one model.
type Request struct {
	// Agent is the agent's name in the harness, for example "historian".
	Agent string
	// Model is "provider/model". Empty means the model that the harness gives
	// the agent.
	Model string
	// System is the agent's system prompt. It is the same for all questions to
	// the agent, so that the provider can cache it.
	System string
	Prompt string
	// Timeout bounds this question. Once applies it to the context as well.
	Timeout time.Duration
}

// An Answer is the text of the agent's last message.
type Answer struct {
	Text string
	// Model is the model that answered, as "provider/model". If the Asker leaves it
	// empty, Once sets it to the model that was asked.
	Model string
	Usage Usage
}

// Usage is the number of tokens that a question cost, by price.
type Usage struct {
	Input, Output, CacheRead, CacheWrite int
}

// Plus returns the sum of two usages.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		Input:      u.Input + v.Input,
		Output:     u.Output + v.Output,
		CacheRead:  u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite,
	}
}

var errTimeout = errors.New("the agent did not answer in time")

// Once asks one question and bounds it by its timeout. If the harness knows the
// model by another name and suggests it, Once asks that model, too, but only
// once. A failure is always an *Error. If ctx has ended, the failure is Aborted,
// or TimedOut after ctx's own deadline.
func Once(ctx context.Context, a Asker, r Request) (Answer, error) {
	answer, err := bounded(ctx, a, r)
	var failed *Error
	if errors.As(err, &failed) && failed.Kind == UnknownModel && r.Model != "" && failed.Suggestion != "" && failed.Suggestion != r.Model {
		r.Model = failed.Suggestion
		return bounded(ctx, a, r)
	}
	return answer, err
}

func bounded(ctx context.Context, a Asker, r Request) (Answer, error) {
	bound, cancel := ctx, context.CancelFunc(func() {})
	if r.Timeout > 0 {
		bound, cancel = context.WithTimeoutCause(ctx, r.Timeout, errTimeout)
	}
	defer cancel()
	answer, err := a.Ask(bound, r)
	if err == nil {
		answer.Model = cmp.Or(answer.Model, r.Model)
		return answer, nil
	}
	return Answer{}, failure(ctx, bound, r, err)
}

// failure classifies the error of a question. It looks at the contexts first: a
// harness words the end of a cancelled question in its own way, for example
// "socket closed".
func failure(ctx, bound context.Context, r Request, err error) error {
	switch {
	case ctx.Err() != nil:
		return &Error{Kind: Classify(ctx.Err()), Err: fmt.Errorf("ask %s: %w", r.name(), context.Cause(ctx))}
	case bound.Err() != nil:
		return &Error{Kind: TimedOut, Err: fmt.Errorf("ask %s for %v: %w", r.name(), r.Timeout, context.Cause(bound))}
	}
	failed := &Error{Kind: Classify(err), Err: fmt.Errorf("ask %s: %w", r.name(), err)}
	var reported *Error
	if errors.As(err, &reported) {
		failed.Suggestion = reported.Suggestion
	}
	return failed
}

func (r Request) name() string {
	if r.Model == "" {
		return r.Agent
	}
	return r.Agent + " with " + r.Model
}
