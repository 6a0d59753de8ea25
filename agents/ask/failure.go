package ask

import (
	"context"
	"errors"
	"regexp"
	"sync"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/overflow"
)

// A Kind is a kind of failure, as far as it decides what to try next.
type Kind string

const (
	// Aborted is the end of the caller's context, or an abort in the harness.
	Aborted Kind = "aborted"
	// TimedOut is the end of the question's own time.
	TimedOut Kind = "timeout"
	// Overflow is a prompt that is too long for the model.
	Overflow Kind = "overflow"
	// UnknownModel is a model that the harness does not have.
	UnknownModel Kind = "unknown model"
	// Transient is a failure that a repetition may cure, such as a rate limit.
	Transient Kind = "transient"
	// Other is any other failure, for example a wrong key.
	Other Kind = "other"
)

// Final reports whether no other model may be asked after the failure. Somebody
// wanted the end of an aborted run. After a timeout the time is spent. A prompt
// that is too long for one model must be cut, not sent again.
func (k Kind) Final() bool { return k == Aborted || k == TimedOut || k == Overflow }

// An Error is a failed question.
type Error struct {
	Kind Kind
	// Suggestion is the model that the harness names instead of an unknown one.
	Suggestion string
	Err        error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Classify returns the kind of a failure. It goes by the type of the error if
// there is one, else by the words that providers use.
func Classify(err error) Kind {
	var reported *Error
	switch {
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

// maxErrorText bounds how much of an error is searched. Providers put their
// message first; a page of HTML may follow it.
const maxErrorText = 4 << 10

func isOverflow(text string) bool {
	_, found := overflow.Detect(json.Quote(text))
	return found
}

// A status code counts only as a word of its own: "1500 tokens" is no failure
// of a server.
var (
	transient = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:429|500|502|503)\b|rate[ _-]?limit|time(?:d )?[ _-]?out|econnreset|etimedout|overloaded`)
	})
	permanent = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)invalid[ _-]request|bad request|unauthori[sz]ed|forbidden|\bauth|\b400\b`)
	})
)
