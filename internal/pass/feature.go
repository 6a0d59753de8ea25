package pass

import (
	"context"

	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/store"
)

// Each function of a Feature may be nil. The features of a host are called in the order of their table, always
// under the session's lock. A feature keeps its state of a session in a session.Slot.
type Feature struct {
	Copied func(ctx context.Context, s *session.Session, original store.Key) error
	// Begun is called when the transcript and the model's limits are up to date, before the pass reads its
	// other facts.
	Begun func(context.Context, *Pass)
	Read  func(context.Context, *Pass, *pipeline.Readings)
	// Decided is called before the wire is rendered. It may change the decision.
	Decided func(context.Context, *Pass)
	Storing func(*Pass, *store.PassCommit)
	// At the call of Stored, the session in memory is still as before the pass.
	Stored func(*Pass)
	// Done is called before the answer is sent, but not after a failed pass.
	Done func(context.Context, *Pass)
}
