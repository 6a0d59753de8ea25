package agent

import (
	"context"

	"github.com/magicctx/magicctx-host/e2e/opencodetest"
)

// An Agent is a running harness, with the actions that both harnesses have. Its prompts have the type
// opencodetest.Prompt, which has all fields that the tests need.
type Agent interface {
	Process() int
	// Printed returns what the process has printed for a person.
	Printed() string
	End() error
	Begin(ctx context.Context) (id string, err error)
	// Send waits for the whole turn, and returns an error if the turn fails.
	Send(ctx context.Context, session string, p opencodetest.Prompt) error
	// The channel is closed when the session is idle.
	SendAsync(ctx context.Context, session string, p opencodetest.Prompt) (idle <-chan struct{}, err error)
	Interject(ctx context.Context, session string, p opencodetest.Prompt) error
	Abort(ctx context.Context, session string) error
	// Command runs a command of the host, for example "ctx-wrapup 2".
	Command(ctx context.Context, session, line string) error
	// GoBack takes the session to the point before the newest prompt that begins with text.
	GoBack(ctx context.Context, session, text string) error
	Copy(ctx context.Context, session string) (id string, err error)
	// CopyUntil returns a new session with the messages before the newest prompt that begins with text.
	CopyUntil(ctx context.Context, session, text string) (id string, err error)
	FailedCalls(ctx context.Context, session string) ([]string, error)
}
