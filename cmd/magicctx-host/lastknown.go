package main

import (
	"context"
	"log/slog"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/observer"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/host"
	"github.com/magicctx/magicctx-host/internal/install"
	"github.com/magicctx/magicctx-host/internal/view"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/rpc/daemon"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// A storeReader answers questions about the store while no host is running. It gives the same answers as a host that
// has just started.
type storeReader struct {
	store *store.Store
	host  *host.Host
}

// readStore locks the store like a host, so it fails if a host is running. It creates and migrates nothing.
func readStore(ctx context.Context, dir string) (*storeReader, error) {
	if err := store.Browse(ctx, dir, func(*store.Browser) error { return nil }); err != nil {
		return nil, err
	}
	now, log := wallClock(), slog.New(slog.DiscardHandler)
	db, err := store.Open(ctx, store.Options{Dir: dir, Log: log, Clock: now})
	if err != nil {
		return nil, err
	}
	return &storeReader{db, host.New(host.Options{Store: db, Clock: now, Log: log, LoadConfig: func(harness schema.Harness, directory string) (schema.Config, []config.Warning) {
		return config.Load(config.Options{Harness: harness, Directory: directory})
	}})}, nil
}

func (r *storeReader) Close() error { return r.store.Close() }

func (r *storeReader) Status(ctx context.Context) (schema.StatusResult, error) {
	st, err := r.host.Status(ctx, nil, schema.StatusParams{})
	st.Version = rpc.Version
	return st, err
}

func (r *storeReader) Session(ctx context.Context, p schema.SessionStatusParams) (schema.SessionStatus, error) {
	return r.host.SessionStatus(ctx, nil, p)
}

// After uninstall, the harness sends whole sessions again. farewell lists sessions whose next prompt will not fit.
func farewell(ctx context.Context, place install.Place) []string {
	endpoint, err := daemon.NewEndpoint(place.DataDir)
	if err != nil {
		return nil
	}
	st, err := observer.Status(ctx, endpoint)
	if err != nil {
		reader, err := readStore(ctx, place.DataDir)
		if err != nil {
			return nil // there is no database, or it has a problem, which doctor reports
		}
		defer reader.Close()
		if st, err = reader.Status(ctx); err != nil {
			return nil
		}
	}
	return view.Farewell(st.Sessions, place.Harness.ID, place.Harness.Name, place.Project)
}
