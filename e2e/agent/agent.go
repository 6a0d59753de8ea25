package agent

import (
	"context"

	"github.com/magicctx/magicctx-host/e2e/opencodetest"
)

// An Agent is a running harness, OpenCode or Pi, with the actions that both have. Every harness takes a prompt as an
// opencodetest.Prompt.
type Agent interface {
	Process() int
	// Printed returns what the process has printed for a person.
	Printed() string
	End() error
	Begin(ctx context.Context) (id string, err error)
	// Send waits until the turn ends. If the turn fails, Send returns an error.
	Send(ctx context.Context, session string, p opencodetest.Prompt) error
	// SendAsync does not wait for the end of the turn. It closes the channel `idle` when the session is idle.
	SendAsync(ctx context.Context, session string, p opencodetest.Prompt) (idle <-chan struct{}, err error)
	Interject(ctx context.Context, session string, p opencodetest.Prompt) error
	Abort(ctx context.Context, session string) error
	// Command runs a command of the host, for example "ctx-wrapup 2".
	Command(ctx context.Context, session, line string) error
	// GoBack undoes the newest prompt that begins with `text`, and everything after that prompt.
	GoBack(ctx context.Context, session, text string) error
	Copy(ctx context.Context, session string) (id string, err error)
	// CopyUntil creates a session with copies of all messages before the newest prompt that begins with `text`.
	CopyUntil(ctx context.Context, session, text string) (id string, err error)
	FailedCalls(ctx context.Context, session string) ([]string, error)
}
