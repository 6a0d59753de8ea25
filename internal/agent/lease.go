package agent

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/work"
)

// A Lease keeps two runs of an agent from doing the same work for a session or a project, even in two processes. Holder
// is a unique name of the run that wants the lease.
type Lease struct {
	Store  *store.Store
	Work   work.Work
	Holder string
}

// NewHolder returns a name for a run. The run holds its lease under this name.
func (r *Runner) NewHolder() string { return fmt.Sprintf("%d.%d", os.Getpid(), r.Serial.Next()) }

// Acquire takes the lease. If another run holds it, acquired is false.
func (l Lease) Acquire(ctx context.Context) (acquired bool, err error) {
	return l.Store.Leases.Acquire(ctx, l.Work, l.Holder)
}

// Keep renews the lease until ctx ends. If the lease is lost, Keep calls lost and returns.
func (l Lease) Keep(ctx context.Context, lost func()) {
	tick := time.NewTicker(work.LeaseRenews)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		held, err := l.Store.Leases.Renew(ctx, l.Work, l.Holder)
		if err == nil && !held {
			lost()
			return
		}
	}
}

// Release releases the lease.
func (l Lease) Release(ctx context.Context) error {
	return l.Store.Leases.Release(ctx, l.Work, l.Holder)
}
