package dream

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/work"
)

const (
	// watchEvery is how often the dreamer looks for runs that are due.
	watchEvery = 15 * time.Minute
	// apart is the least time between two runs of a project, whatever came of the first one.
	apart = 12 * time.Hour
	// maxFailures is how many equal failures in a row end the schedule of a project, until /ctx-dream succeeds.
	maxFailures = 3
)

// errRuntime ends a run of the schedule that takes too long.
var errRuntime = errors.New("the run has used up its time")

// Watch starts the runs that are due, until ctx ends. There is one at a time.
func (d *Dreamer) Watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.StartDue(ctx)
		}
	}
}

// StartDue starts the run of one project, if one is due: in the hours of its schedule, if a harness has the project open,
// and if its memories have changed since the last run.
func (d *Dreamer) StartDue(ctx context.Context) {
	for _, place := range d.Clients.Opened() {
		cfg := d.Clients.Config(string(place.Harness), place.Directory)
		if cfg.Dreamer.Disable || !isWithin(cfg.Dreamer.Schedule, time.UnixMilli(d.Clock.Now()).In(d.Zone)) {
			continue
		}
		session, err := d.Store.NewestSession(ctx, string(place.Harness), place.Directory)
		isDue := false
		if err == nil {
			isDue, err = d.isDue(ctx, session.Project)
		}
		if err != nil {
			d.Log.Warn("the dreamer's schedule is not known", "directory", place.Directory, "error", err)
		}
		if !isDue {
			continue
		}
		r := d.run(place.Client, session, cfg, place.Directory)
		r.most = time.Duration(cfg.Dreamer.MaxRuntimeMinutes) * time.Minute
		if hasBegun, err := r.start(ctx); err != nil {
			d.Log.Warn("the dreamer has not started", "directory", place.Directory, "error", err)
		} else if hasBegun {
			return
		}
	}
}

// isDue reports whether the memories of a project have changed since its last run, and whether another run may follow it.
func (d *Dreamer) isDue(ctx context.Context, project string) (bool, error) {
	d.mu.Lock()
	isBusy := len(d.running) > 0
	d.mu.Unlock()
	if project == "" || isBusy {
		return false, nil
	}
	runs, err := d.Store.Runs.Of(ctx, memories.DreamerOf(project), maxFailures)
	if err != nil {
		return false, err
	}
	last := int64(0)
	if len(runs) > 0 {
		last = runs[0].EndedAt
	}
	isBroken := len(runs) == maxFailures && !slices.ContainsFunc(runs, func(r work.RunRow) bool { return r.Status != work.Failed || r.Reason != runs[0].Reason })
	if isBroken || last > 0 && d.Clock.Now()-last < apart.Milliseconds() {
		return false, nil
	}
	known, err := d.Store.Memories.Of(ctx, project, d.Clock.Now())
	return slices.ContainsFunc(known.Memories, func(m chronicle.Memory) bool {
		return m.Project == project && max(m.CreatedAt, m.UpdatedAt) > last
	}), err
}

// isWithin reports whether a time of day is in a schedule, for example "22:00-06:00". The end is not part of it.
func isWithin(schedule string, at time.Time) bool {
	begin, end, _ := strings.Cut(schedule, "-")
	now := at.Format("15:04")
	if begin <= end {
		return begin <= now && now < end
	}
	return begin <= now || now < end
}

// run returns a run that has not begun.
func (d *Dreamer) run(c client.Client, session store.SessionRow, cfg schema.Config, directory string) *run {
	return &run{Dreamer: d, client: c, session: session, cfg: cfg, directory: directory, project: session.Project}
}
