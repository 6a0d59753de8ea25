package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/host"
	"github.com/magicctx/magicctx-host/internal/install"
	"github.com/magicctx/magicctx-host/internal/marker"
	"github.com/magicctx/magicctx-host/internal/marking"
	"github.com/magicctx/magicctx-host/internal/power"
	"github.com/magicctx/magicctx-host/internal/project"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/file"
)

// If the store cannot be opened, newHost still returns a host, which reports the reason in its status.
func newHost(ctx context.Context, o hostOptions) (rpc.Provider, func(), error) {
	loadConfig := func(harness schema.Harness, directory string) (schema.Config, []config.Warning) {
		return config.Load(config.Options{Harness: harness, Directory: directory})
	}
	disabledAt := func(harness schema.Harness, directory string) string {
		return config.DisabledAt(config.Options{Harness: harness, Directory: directory})
	}
	now := wallClock()
	h := host.NewStandby(ctx, host.StandbyOptions{
		Path: file.PathIn(o.DataDir), Log: o.Log,
		Open: func(ctx context.Context) (*host.Host, error) {
			db, err := store.Open(ctx, store.Options{Dir: o.DataDir, Log: o.Log, Clock: now})
			if err != nil {
				return nil, err
			}
			return host.New(host.Options{
				Store: db, Clock: now, Log: o.Log, LoadConfig: loadConfig, DisabledAt: disabledAt, Summarises: true, Dreams: true, OnBattery: power.OnBattery, Identify: project.Identify,
				Markers:    harnessMarkers(),
				RawHistory: &rawhistory.Reader{Env: os.Getenv}, IndexDir: o.DataDir, Embeds: os.Getenv, Conflicts: conflictsOf(o.DataDir),
			}), nil
		},
		Offer: func(p schema.InitializeParams) schema.InitializeResult {
			cfg, _ := loadConfig(p.Harness, p.Directory)
			r := host.Offer(cfg)
			if !r.Enabled {
				r.Reason = host.SwitchedOff(disabledAt(p.Harness, p.Directory))
			}
			return r
		},
	})
	tidying, stop := context.WithCancel(ctx)
	var tidied sync.WaitGroup
	tidied.Go(func() { h.KeepTidy(tidying) })
	return provider{h}, func() {
		stop()
		tidied.Wait()
		h.Close()
	}, nil
}

// The harness's start has to wait until the host has searched the project's files for conflicts, so the search must be
// short.
const conflictsTimeout = 500 * time.Millisecond

// conflictsOf returns a function that looks for conflicts, as doctor and install do, and returns them as warnings. If
// it finds another context plugin, it also returns the reason why magicctx must not work.
func conflictsOf(dataDir string) func(context.Context, schema.Harness, string) ([]config.Warning, string) {
	return func(ctx context.Context, harness schema.Harness, directory string) (all []config.Warning, competitor string) {
		h := install.HarnessOf(harness.Program())
		if h == nil || directory == "" {
			return nil, ""
		}
		ctx, cancel := context.WithTimeout(ctx, conflictsTimeout)
		defer cancel()
		found, err := install.ConflictsAt(ctx, places(h, directory, dataDir)...)
		if err != nil { // the harness cannot read its configuration either, or the disk is very slow
			return nil, ""
		}
		for _, c := range found {
			c.Where, c.Problem, c.Remedy = format.Clean(c.Where), format.Clean(c.Problem), format.Clean(c.Remedy) // the texts contain names from the project, and a harness may print them on a terminal
			if c.IsCompetitor && competitor == "" {
				competitor = fmt.Sprintf("it stands down, because it cannot work beside another context plugin. %s: %s. To use magicctx, %s", c.Where, c.Problem, c.Remedy)
			}
			all = append(all, config.Warning{
				File: c.Where, Key: h.List,
				Message: fmt.Sprintf("%s: %s; magicctx cannot work beside it: %s", c.Where, c.Problem, c.Remedy),
			})
		}
		return all, competitor
	}
}

type provider struct{ *host.Standby }

func (p provider) Current(ctx context.Context) (rpc.Host, func(), error) {
	h, release, err := p.Standby.Current(ctx)
	if err != nil { // a nil *host.Host would become an rpc.Host that is not nil
		return nil, nil, err
	}
	return h, release, nil
}

// A test can name a file that shifts the clock.
func wallClock() clock.Clock {
	if path := os.Getenv("MAGICCTX_TEST_CLOCK"); path != "" {
		return clock.Shifted{Path: path}
	}
	return clock.System{}
}

// idleExit returns how long the host waits without clients before it ends. All harnesses share the host, but each
// harness has its own configuration. So idleExit uses the longest time that any of them sets, or the default if none
// sets a time.
func idleExit(hostOptions) time.Duration { return idleExitOf(os.Getenv) }

func idleExitOf(env func(string) string) time.Duration {
	standard, longest := config.Default().IdleExitMinutes, 0
	for _, h := range install.Harnesses {
		if cfg, _ := config.Load(config.Options{Harness: h.ID, Env: env}); cfg.IdleExitMinutes != standard {
			longest = max(longest, cfg.IdleExitMinutes)
		}
	}
	return time.Duration(cmp.Or(longest, standard)) * time.Minute
}

func harnessMarkers() map[schema.Harness]marking.Markers {
	return map[schema.Harness]marking.Markers{schema.HarnessOpenCode: marker.OpenCode{Env: os.Getenv}}
}
