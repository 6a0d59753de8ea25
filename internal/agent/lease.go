package agent

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/work"
)

// A Lease keeps two runs of an agent from doing the same work for a session or a project, even in two processes.
// Holder is the unique name of the run that takes the lease.
type Lease struct {
	Store  *store.Store
	Work   work.Work
	Holder string
}

func (r *Runner) NewHolder() string { return fmt.Sprintf("%d.%d", os.Getpid(), r.Serial.Next()) }

func (l Lease) Acquire(ctx context.Context) (acquired bool, err error) {
	return l.Store.Leases.Acquire(ctx, l.Work, l.Holder)
}

// Keep renews the lease until ctx ends. If the lease is lost, for example to another run, Keep calls the function
// `lost` and returns.
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

func (l Lease) Release(ctx context.Context) error {
	return l.Store.Leases.Release(ctx, l.Work, l.Holder)
}
