package store

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/magicctx/magicctx-host/store/database"
)

// A Guard limits how long the writes of a host wait, and remembers whether the last write succeeded.
type Guard struct {
	// Patience is how long a write waits for another program's lock on the database.
	Patience time.Duration
	log      *slog.Logger
	// trouble is the reason why the last write failed, or nil.
	trouble atomic.Pointer[string]
	// isDamaged means that a write failed because the database is damaged.
	isDamaged atomic.Bool
}

// NewGuard returns a Guard with this patience.
func NewGuard(log *slog.Logger, patience time.Duration) *Guard {
	return &Guard{log: log, Patience: patience}
}

// Writing returns a context for a write, see database.Patient.
func (g *Guard) Writing(ctx context.Context) (context.Context, context.CancelFunc) {
	return database.Patient(ctx, g.Patience)
}

// Wrote remembers the result of a write.
func (g *Guard) Wrote(err error) {
	switch {
	case err == nil:
		if g.trouble.Swap(nil) != nil {
			g.log.Info("the store takes writes again")
		}
	case errors.Is(err, ErrCannotPersist):
		if errors.Is(err, ErrDamaged) {
			g.isDamaged.Store(true)
		}
		reason := Reason(err)
		if g.trouble.Swap(&reason) == nil {
			g.log.Error("nothing can be stored, so sessions pass unchanged", "error", err)
		}
	}
}

// Trouble returns the reason why the last write failed, or "" if it succeeded.
func (g *Guard) Trouble() string {
	if reason := g.trouble.Load(); reason != nil {
		return *reason
	}
	return ""
}

// IsDamaged reports whether a write failed because the database is damaged.
func (g *Guard) IsDamaged() bool { return g.isDamaged.Load() }

// Reason tells a person why the store fails, and what to do about it.
func Reason(err error) string {
	cause := err
	for inner := err; inner != nil && errors.Is(inner, ErrCannotPersist); inner = errors.Unwrap(inner) {
		cause = inner
	}
	return cause.Error() + remedy(err)
}

// remedy returns what a person can do about the error, with "; " before it. If the error itself already says this,
// remedy returns "".
func remedy(err error) string {
	switch {
	case errors.Is(err, ErrLocked):
		return "; end that process"
	case errors.Is(err, ErrForeign):
		return "; move it away"
	case errors.Is(err, ErrNotOurs):
		return "; give it to this user, or name another one with MAGIC_CONTEXT_DATA_DIR"
	case errors.Is(err, ErrBusy):
		return "; end the program that holds it"
	case errors.Is(err, ErrGone):
		return "; put it back, or go on with an empty one: the next session that starts creates it"
	case errors.Is(err, ErrCannotPersist):
		return "; make room on the disk, or the directory writable"
	default:
		return ""
	}
}
