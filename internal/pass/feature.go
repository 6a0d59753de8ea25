package pass

import (
	"context"

	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/store"
)

// A Feature is a set of functions that a pass calls. Each of them may be nil. The caller holds the session's
// lock, and calls the features in the order of Options.Features. A feature keeps its state of a session in a
// session.Slot.
type Feature struct {
	Copied func(ctx context.Context, s *session.Session, original store.Key) error
	// Begun is called when the transcript and the model's limits are up to date, before the pass reads its
	// other facts.
	Begun func(context.Context, *Pass)
	Read  func(context.Context, *Pass, *pipeline.Readings)
	// Decided is called before the wire is rendered. It may change the decision.
	Decided func(context.Context, *Pass)
	Storing func(*Pass, *store.PassCommit)
	// When the host calls Stored, the pass is in the database, but the session in memory does not contain it yet.
	Stored func(*Pass)
	// Done is called just before the host sends the answer of a pass. It is not called for a failed pass.
	Done func(context.Context, *Pass)
}
