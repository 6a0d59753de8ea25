package dream

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/work"
)

const (
	watchEvery = time.Minute
	// After a successful run for a project, the next one is due no sooner than `apart`.
	apart      = 12 * time.Hour
	retryAfter = time.Hour
	// If this many runs of a project fail one after another for the same reason, no run starts by itself until the next
	// day, unless /ctx-dream succeeds before.
	maxFailures = 3
)

var errRuntime = errors.New("the run has used up its time")

// Every minute until ctx ends, Watch starts a run if one is due and no other run is active.
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

func (d *Dreamer) StartDue(ctx context.Context) {
	for _, place := range d.Clients.Opened() {
		cfg := d.Clients.Config(string(place.Harness), place.Directory)
		if cfg.Dreamer.Disable {
			continue
		}
		session, err := d.Store.NewestSession(ctx, string(place.Harness), place.Directory)
		isDue := false
		if err == nil {
			isDue, err = d.isDue(ctx, cfg, session.Project)
		}
		if err != nil {
			d.Log.Warn("the dreamer's schedule is not known", "directory", place.Directory, "error", err)
		}
		if !isDue {
			continue
		}
		if hasBegun, err := d.run(place.Client, session, cfg, place.Directory).start(ctx); err != nil {
			d.Log.Warn("the dreamer has not started", "directory", place.Directory, "error", err)
		} else if hasBegun {
			return
		}
	}
}

type past struct {
	work.State
	runs         []work.RunRow // at most maxFailures, the newest first
	account      account
	isUnfinished bool
}

func (d *Dreamer) past(ctx context.Context, project string) (p past, err error) {
	if p.State, err = d.Store.Runs.State(ctx, memories.DreamerOf(project)); err != nil {
		return p, err
	}
	if p.Unfinished != "" {
		if p.account, err = accountOf(p.Unfinished); err == nil {
			p.isUnfinished = true
			return p, nil
		}
		d.Log.Warn("an unfinished run of the dreamer begins anew", "project", project, "error", err)
	}
	p.runs, err = d.Store.Runs.Of(ctx, memories.DreamerOf(project), maxFailures)
	return p, err
}

// isDue reports whether a run for the project may start now. If the user started a run that was interrupted, it may
// continue at once. Any other run has to wait for its schedule. It also needs a reason: an interrupted or failed run,
// or a changed memory.
func (d *Dreamer) isDue(ctx context.Context, cfg schema.Config, project string) (bool, error) {
	d.mu.Lock()
	isBusy := len(d.running) > 0
	d.mu.Unlock()
	if project == "" || isBusy {
		return false, nil
	}
	p, err := d.past(ctx, project)
	if err != nil || p.isUnfinished && p.account.IsManual {
		return err == nil, err
	}
	now := d.Clock.Now()
	if isAllowed, err := d.isAllowed(ctx, cfg.Dreamer); err != nil || !isAllowed || p.isUnfinished {
		return isAllowed, err
	}
	last := int64(0)
	if len(p.runs) > 0 {
		last = p.runs[0].EndedAt
		if p.runs[0].Status == work.Failed {
			return now >= p.Retry && now >= d.brokenUntil(p.runs), nil
		}
	}
	if last > 0 && now-last < apart.Milliseconds() {
		return false, nil
	}
	known, err := d.Store.Memories.Of(ctx, project, now)
	return slices.ContainsFunc(known.Memories, func(m chronicle.Memory) bool {
		return m.Project == project && max(m.CreatedAt, m.UpdatedAt) > last
	}), err
}

// isAllowed reports whether a run may begin now: within the schedule, or when the user has been away for some time and
// the machine is on mains power.
func (d *Dreamer) isAllowed(ctx context.Context, cfg schema.Dreamer) (bool, error) {
	now := time.UnixMilli(d.Clock.Now())
	if isWithin(cfg.Schedule, now.In(d.Zone)) {
		return true, nil
	}
	if cfg.IdleMinutes == 0 {
		return false, nil
	}
	used, err := d.Store.LastPassAt(ctx)
	isIdle := now.Sub(time.UnixMilli(used)) >= time.Duration(cfg.IdleMinutes)*time.Minute
	return isIdle && (d.OnBattery == nil || !d.OnBattery(ctx)), err
}

// If the newest maxFailures runs have all failed for the same reason, no run starts by itself until the next day.
// brokenUntil returns the beginning of that day. Otherwise, it returns 0.
func (d *Dreamer) brokenUntil(runs []work.RunRow) int64 {
	isOther := func(r work.RunRow) bool { return r.Status != work.Failed || r.Reason != runs[0].Reason }
	if len(runs) < maxFailures || slices.ContainsFunc(runs, isOther) {
		return 0
	}
	return d.tomorrow(runs[0].EndedAt)
}

func (d *Dreamer) tomorrow(at int64) int64 {
	year, month, day := time.UnixMilli(at).In(d.Zone).Date()
	return time.Date(year, month, day+1, 0, 0, 0, 0, d.Zone).UnixMilli()
}

func (d *Dreamer) retry(err error) int64 {
	now := d.Clock.Now()
	switch {
	case ask.Classify(err) == ask.OverBudget:
		return d.tomorrow(now) // when the next budget begins
	case errors.Is(err, errRuntime):
		return now + apart.Milliseconds()
	}
	return now + retryAfter.Milliseconds()
}

// A schedule does not include its end: 06:00 is not within "22:00-06:00".
func isWithin(schedule string, at time.Time) bool {
	begin, end, _ := strings.Cut(schedule, "-")
	now := at.Format("15:04")
	if begin <= end {
		return begin <= now && now < end
	}
	return begin <= now || now < end
}

func (d *Dreamer) run(c client.Client, session store.SessionRow, cfg schema.Config, directory string) *run {
	return &run{Dreamer: d, client: c, session: session, cfg: cfg, directory: directory, project: session.Project}
}
