package ask

import (
	"context"
	"errors"
	"regexp"
	"sync"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/overflow"
)

// A Kind is the kind of a failure. It tells the caller whether to ask another model.
type Kind string

const (
	// Aborted means that the caller's context ended, or that the harness aborted the agent.
	Aborted Kind = "aborted"
	// TimedOut means that the agent did not answer the question within its time limit.
	TimedOut Kind = "timeout"
	// Overflow means that the prompt is too long for the model.
	Overflow Kind = "overflow"
	// UnknownModel means that the harness does not have the model.
	UnknownModel Kind = "unknown model"
	// OverBudget means that the highest possible cost of the question exceeds the budget. A cheaper model may fit.
	OverBudget Kind = "over budget"
	// Transient is a temporary failure, such as a rate limit. A retry may succeed.
	Transient Kind = "transient"
	// Other is any other failure, for example a wrong key.
	Other Kind = "other"
)

// Final reports whether the caller must not ask another model. After an abort, the run must end. After a timeout, no
// time is left. After an overflow, the caller must first shorten the prompt.
func (k Kind) Final() bool { return k == Aborted || k == TimedOut || k == Overflow }

type Error struct {
	Kind Kind
	// Suggestion is the harness's proposal for an unknown model.
	Suggestion string
	// Err is the harness's error, or nil.
	Err error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return string(e.Kind)
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Classify returns the kind of a failure, or "" if err is nil. If the type of err does not show the kind, Classify
// looks for words that providers use.
func Classify(err error) Kind {
	var reported *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &reported) && reported.Kind != "":
		return reported.Kind
	case errors.Is(err, context.Canceled):
		return Aborted
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	}
	text := err.Error()
	if len(text) > maxErrorText {
		text = text[:maxErrorText]
	}
	if isOverflow(text) {
		return Overflow
	}
	if transient().MatchString(text) && !permanent().MatchString(text) {
		return Transient
	}
	return Other
}

// Only the first maxErrorText bytes of an error are searched. Providers put their message first, and a page of HTML may
// follow.
const maxErrorText = 4 << 10

func isOverflow(text string) bool {
	_, found := overflow.Detect(json.Quote(text))
	return found
}

// The patterns match a status code only as a whole word: "1500 tokens" does not contain the status 500.
var (
	transient = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:429|500|502|503)\b|rate[ _-]?limit|time(?:d )?[ _-]?out|econnreset|etimedout|overloaded`)
	})
	permanent = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)invalid[ _-]request|bad request|unauthori[sz]ed|forbidden|\bauth|\b400\b`)
	})
)
