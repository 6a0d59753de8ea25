package pass

import (
	"context"

	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/store"
)

// A Feature attaches to passes. Each of its functions may be nil. The features of a host are called in the order
// of their table, always under the session's lock. A feature keeps its state of a session in a session.Slot.
type Feature struct {
	// Copied is called when a session begins as a copy of another one, the original.
	Copied func(ctx context.Context, s *session.Session, original store.Key) error
	// Begun is called when the transcript and the limits of the model are up to date, before the pass reads its
	// other facts.
	Begun func(context.Context, *Pass)
	// Read adds facts to the readings, from which the pass decides.
	Read func(context.Context, *Pass, *pipeline.Readings)
	// Decided is called after the decision, which it may change, and before the wire is rendered.
	Decided func(context.Context, *Pass)
	// Storing adds rows to the transaction of the pass.
	Storing func(*Pass, *store.PassCommit)
	// Stored is called after the transaction of the pass. At that point, the session in memory is still as it was
	// before the pass.
	Stored func(*Pass)
	// Done is called when the answer is ready, before it is sent. It is not called after a failed pass.
	Done func(context.Context, *Pass)
}
