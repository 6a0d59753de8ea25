package replay

import (
	"errors"
	"fmt"
	"io"

	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/rpc"
)

var remedy = fmt.Sprintf("give a file that was recorded after %s trace on", program.Name())

// ErrNoRequest means that a trace holds no request to a model.
var ErrNoRequest = errors.New("the trace holds no request of a shim; " + remedy)

// An unreadableError says why a file cannot be replayed. `text` is for the user, and `cause` is the decoder's error.
type unreadableError struct {
	text  string
	cause error
}

func (e *unreadableError) Error() string { return e.text }
func (e *unreadableError) Unwrap() error { return e.cause }

// A source remembers the error of its reader, to distinguish an unreadable file from a bad trace.
type source struct {
	io.Reader
	failed error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = err
	}
	return n, err
}

func (s *source) explain(cause error, lines int) error {
	text := "this is no trace of magicctx; " + remedy
	switch {
	case s.failed != nil, errors.Is(cause, rpc.ErrTraceTooLarge):
		return cause
	case isTorn(cause):
		text = "the trace ends in the middle, before its first whole request; " + remedy
	case lines > 0:
		text = fmt.Sprintf("line %d of the trace is damaged; delete it and what follows, to replay the lines before it", lines+1)
	}
	return &unreadableError{text, cause}
}
