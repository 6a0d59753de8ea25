package agent

import (
	"context"

	"github.com/magicctx/magicctx-host/e2e/opencodetest"
)

// An Agent is a running harness, with the actions that the tests of both harnesses share. It takes prompts of the
// type opencodetest.Prompt, which has all fields that the tests need.
type Agent interface {
	// Process is the id of the process that the host knows as its client.
	Process() int
	// Printed returns what the process has printed for a person.
	Printed() string
	// End ends the process as its user does.
	End() error
	Begin(ctx context.Context) (id string, err error)
	// Send sends a prompt and waits for the whole turn. If the turn fails, it returns an error.
	Send(ctx context.Context, session string, p opencodetest.Prompt) error
	// SendAsync sends a prompt. The channel is closed when the session is idle.
	SendAsync(ctx context.Context, session string, p opencodetest.Prompt) (idle <-chan struct{}, err error)
	// Interject sends a prompt while the model works.
	Interject(ctx context.Context, session string, p opencodetest.Prompt) error
	Abort(ctx context.Context, session string) error
	// Command runs a command of the host, for example "ctx-wrapup 2".
	Command(ctx context.Context, session, line string) error
	// GoBack takes the session to the point before the newest prompt that begins with text.
	GoBack(ctx context.Context, session, text string) error
	// Copy returns a new session with all messages of this one.
	Copy(ctx context.Context, session string) (id string, err error)
	// CopyUntil returns a new session with the messages before the newest prompt that begins with text.
	CopyUntil(ctx context.Context, session, text string) (id string, err error)
	// FailedCalls describes the failed tool calls of a session.
	FailedCalls(ctx context.Context, session string) ([]string, error)
}
