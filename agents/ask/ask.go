package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/magicctx/magicctx-host/internal/tokens"
)

// An Asker runs a hidden agent on one prompt. If ctx ends, Ask stops the agent in the harness and then returns soon. If
// Ask returns an error that is not an *Error, Classify finds its kind.
type Asker interface {
	Ask(ctx context.Context, r Request) (Answer, error)
}

// A Request is one question to a hidden agent, for one model.
type Request struct {
	Agent string
	// Model is "provider/model", or "" for the harness's choice.
	Model string
	// System is the agent's system prompt. All questions to one agent have the same system prompt, so that the provider
	// can cache it.
	System string
	Prompt string
	// MaxOutput limits the tokens of the answer in each step, including thinking. 0 means the harness's own limit.
	MaxOutput int
	Timeout   time.Duration
}

// An Answer is the text of the agent's last message.
type Answer struct {
	Text string
	// Model is the model that answered, as "provider/model". If the harness does not name it, Once sets the requested
	// model.
	Model string
	Usage Usage
}

// Usage counts the tokens of a question and its answer.
type Usage struct {
	Input, Output, CacheRead, CacheWrite int
}

func (u Usage) Plus(v Usage) Usage {
	return Usage{
		Input:      u.Input + v.Input,
		Output:     u.Output + v.Output,
		CacheRead:  u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite,
	}
}

// mostTokens is more than any real question has. The limit keeps sums and prices from overflowing.
const mostTokens = 100_000_000

// Bounded limits each count to the range from 0 to mostTokens. Otherwise, the budget would book a negative count as a
// gain.
func (u Usage) Bounded() Usage {
	for _, n := range []*int{&u.Input, &u.CacheRead, &u.CacheWrite, &u.Output} {
		*n = min(max(0, *n), mostTokens)
	}
	return u
}

// OrCounted replaces a reported count with the host's own count if the reported count is less than half of the host's
// count. Some providers and proxies report 0 tokens. The question would then seem free, and the host could repeat it
// without end. A provider may well count fewer tokens than the host, but never less than half as many.
func (u Usage) OrCounted(r Request, text string) Usage {
	u = u.Bounded()
	if asked := r.Tokens(); 2*(u.Input+u.CacheRead+u.CacheWrite) < asked {
		u.Input, u.CacheRead, u.CacheWrite = asked, 0, 0
	}
	if said := tokens.Count(text); 2*u.Output < said {
		u.Output = said
	}
	return u
}

// Tokens returns the host's count of the tokens that the model reads.
func (r Request) Tokens() int { return tokens.Count(r.System) + tokens.Count(r.Prompt) }

var errTimeout = errors.New("the agent did not answer in time")

// Once asks one question, for at most r.Timeout. If the harness does not know the model and suggests another one, Once
// asks that model, but it follows no second suggestion. Every failure is an *Error. Its kind is Aborted if ctx was
// cancelled, and TimedOut if a deadline has passed. Even with a failure, Once returns the usage that the harness
// reported.
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
		answer.Usage = answer.Usage.OrCounted(r, answer.Text)
		return answer, nil
	}
	answer.Usage = answer.Usage.Bounded()
	return answer, failure(ctx, bound, r, err)
}

// The function `failure` makes the *Error for a failed question. If `ctx` or `bound` has ended, it ignores `err`,
// because a harness may report a cancelled question in other words, for example "socket closed".
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
