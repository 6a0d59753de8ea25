package ask

import (
	"context"
	"errors"
	"regexp"
	"sync"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/overflow"
)

// A Kind is a kind of failure, which decides what to try next.
type Kind string

const (
	// Aborted means that the caller's context ended, or that the harness aborted the agent.
	Aborted Kind = "aborted"
	// TimedOut means that the question's own time is over.
	TimedOut Kind = "timeout"
	// Overflow means that the prompt is too long for the model.
	Overflow Kind = "overflow"
	// UnknownModel means that the harness does not have the model.
	UnknownModel Kind = "unknown model"
	// OverBudget means that the worst case of the question did not fit into the budget. Another model may be cheaper.
	OverBudget Kind = "over budget"
	// Transient is a failure that may not happen again, such as a rate limit.
	Transient Kind = "transient"
	// Other is any other failure, for example a wrong key.
	Other Kind = "other"
)

// Final reports whether no other model may be asked. After an abort, the run must end. After a timeout, the
// question's time is used up. After an overflow, the prompt must be shortened first.
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

// Classify returns the kind of a failure, or "" for nil. It uses the type of the error, or else the words that
// providers use.
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

// Providers put their message first, and a page of HTML may follow, so only this part of an error's text is searched.
const maxErrorText = 4 << 10

func isOverflow(text string) bool {
	_, found := overflow.Detect(json.Quote(text))
	return found
}

// A status code is a separate word: "1500 tokens" is not a server's error 500.
var (
	transient = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:429|500|502|503)\b|rate[ _-]?limit|time(?:d )?[ _-]?out|econnreset|etimedout|overloaded`)
	})
	permanent = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)invalid[ _-]request|bad request|unauthori[sz]ed|forbidden|\bauth|\b400\b`)
	})
)
