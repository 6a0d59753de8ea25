package ask

import (
	"context"
	"errors"
	"regexp"
	"sync"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/overflow"
)

// A Kind is a kind of failure. The caller decides by it what to try next.
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
	// OverBudget means that the question was not asked, because its worst case does not fit into the budget. Another model
	// may be cheaper.
	OverBudget Kind = "over budget"
	// Transient is a failure that may not happen again, such as a rate limit.
	Transient Kind = "transient"
	// Other is any other failure, for example a wrong key.
	Other Kind = "other"
)

// Final reports whether no other model may be asked after the failure. After an abort, the run must end. After a
// timeout, the question's time is used up. After an overflow, the prompt must be shortened, and sending it again does
// not help.
func (k Kind) Final() bool { return k == Aborted || k == TimedOut || k == Overflow }

// An Error is a failed question.
type Error struct {
	Kind Kind
	// Suggestion is the model that the harness proposes if it does not know the requested model.
	Suggestion string
	// Err is the error that the harness reported. It may be nil.
	Err error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return string(e.Kind)
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Classify returns the kind of a failure, or "" if err is nil. If the type of the error shows the kind, Classify uses
// the type. Otherwise it looks for the words that providers use.
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

// maxErrorText bounds how much of an error's text is searched. Providers put their message first, and a page
// of HTML may follow it.
const maxErrorText = 4 << 10

func isOverflow(text string) bool {
	_, found := overflow.Detect(json.Quote(text))
	return found
}

// The pattern matches a status code only as a separate word: for example, "1500 tokens" is not a server's
// error 500.
var (
	transient = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:429|500|502|503)\b|rate[ _-]?limit|time(?:d )?[ _-]?out|econnreset|etimedout|overloaded`)
	})
	permanent = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)invalid[ _-]request|bad request|unauthori[sz]ed|forbidden|\bauth|\b400\b`)
	})
)
