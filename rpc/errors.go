package rpc

import (
	"context"
	"errors"
	"fmt"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/magicctx/magicctx-host/schema"
)

// An error of type coded has a protocol code, for example schema.CodeResync.
type coded interface{ RPCCode() int }

type requestError struct {
	code    int
	message string
}

func refuse(code int, format string, args ...any) error {
	return &requestError{code, fmt.Sprintf(format, args...)}
}

func (e *requestError) Error() string { return e.message }

func (e *requestError) RPCCode() int { return e.code }

// codeOf is the only place that turns an error into a code:
//
//	has RPCCode() int          its code
//	context.DeadlineExceeded   schema.CodeTimeout
//	context.Canceled           schema.CodeCancelled
//	anything else              -32603, internal error
func codeOf(err error) int {
	var c coded
	switch {
	case errors.As(err, &c):
		return c.RPCCode()
	case errors.Is(err, context.DeadlineExceeded):
		return schema.CodeTimeout
	case errors.Is(err, context.Canceled):
		return schema.CodeCancelled
	default:
		return jsonrpc2.CodeInternalError
	}
}

// An Error is an error that the other end sent as the answer to a call.
type Error struct {
	Method  string
	Code    int
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// IsInvalidParams reports whether the other end refused the parameters, for example an unknown session.
func (e *Error) IsInvalidParams() bool { return e.Code == jsonrpc2.CodeInvalidParams }

// IsUnknownMethod reports whether the other end, for example an older host, does not know the method.
func (e *Error) IsUnknownMethod() bool { return e.Code == jsonrpc2.CodeMethodNotFound }
