package main

import (
	"context"
	"time"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/host"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// newHost is the hostBuilder of the real program.
func newHost(ctx context.Context, o hostOptions) (rpc.Host, func(), error) {
	db, err := store.Open(ctx, store.Options{Dir: o.DataDir, Log: o.Log, Clock: clock.System{}})
	if err != nil {
		return nil, nil, err
	}
	h := host.New(host.Options{Store: db, Clock: clock.System{}, Log: o.Log,
		LoadConfig: func(harness schema.Harness, directory string) (schema.Config, []config.Warning) {
			return config.Load(config.Options{Harness: harness, Directory: directory})
		}})
	return h, func() {
		if err := db.Close(); err != nil {
			o.Log.Error("closing the store", "error", err)
		}
	}, nil
}

// idleExit is how long the host outlives its last client, from the user's
// configuration; 0 is for ever.
func idleExit(hostOptions) time.Duration {
	cfg, _ := config.Load(config.Options{Harness: schema.HarnessOpenCode})
	return time.Duration(cfg.IdleExitMinutes) * time.Minute
}
