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

// If the store cannot be opened, the host still starts, so that status can report the reason.
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

// The start of the harness waits for the search for conflicts, which reads files of the project.
const conflictsTimeout = 500 * time.Millisecond

// Like doctor and install, the function finds conflicts, which become warnings. Another context plugin is the reason
// to stand down.
func conflictsOf(dataDir string) func(context.Context, schema.Harness, string) ([]config.Warning, string) {
	return func(ctx context.Context, harness schema.Harness, directory string) (all []config.Warning, competitor string) {
		h := install.HarnessOf(harness.Program())
		if h == nil || directory == "" {
			return nil, ""
		}
		ctx, cancel := context.WithTimeout(ctx, conflictsTimeout)
		defer cancel()
		found, err := install.ConflictsAt(ctx, places(h, directory, dataDir)...)
		if err != nil { // the harness cannot read this file either, or the disk is very slow
			return nil, ""
		}
		for _, c := range found {
			c.Where, c.Problem, c.Remedy = format.Clean(c.Where), format.Clean(c.Problem), format.Clean(c.Remedy) // a project names its plugins, and a harness may show the text on a terminal
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

// Each harness has a configuration. The longest time applies, or the default.
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
