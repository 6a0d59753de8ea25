package client

import (
	"fmt"

	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// An Error has an error code of the protocol. From the code, the shim knows how to go on, for example whether to
// resync.
type Error struct {
	code int
	msg  string
}

func (e *Error) Error() string { return e.msg }

func (e *Error) RPCCode() int { return e.code }

var ErrResync = &Error{schema.CodeResync, "resync: the host does not hold the base of this transform"}

// ErrClientLeft means that no further message can arrive: the client has closed the connection or its output.
var ErrClientLeft = &Error{schema.CodeCancelled, "the client left"}

func Invalid(format string, args ...any) error {
	return &Error{invalidParams, fmt.Sprintf(format, args...)}
}

const invalidParams = -32602

// IsInvalidParams reports whether the caller made a mistake, for example if it named an unknown session.
func (e *Error) IsInvalidParams() bool { return e.code == invalidParams }

func Disabled(reason string) error {
	return &Error{schema.CodeDisabled, reason}
}

func CodecOf(harness string) (transcript.Codec, error) {
	codec, ok := transcript.CodecOf(harness)
	if !ok {
		return nil, Invalid("harness %q is not supported by this host", harness)
	}
	return codec, nil
}
