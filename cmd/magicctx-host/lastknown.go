package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/host"
	"github.com/magicctx/magicctx-host/internal/install"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/rpc/daemon"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// A storeReader answers questions about sessions while no host runs, as the next host would at its start.
type storeReader struct {
	store *store.Store
	host  *host.Host
}

// readStore opens the store like a host, so it fails while a host runs. It neither creates nor migrates a database.
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

// Status returns the status that the next host would report at its start.
func (r *storeReader) Status(ctx context.Context) (schema.StatusResult, error) {
	st, err := r.host.Status(ctx, nil, schema.StatusParams{})
	st.Version = rpc.Version
	return st, err
}

// Session implements sessionAsker.
func (r *storeReader) Session(ctx context.Context, p schema.SessionStatusParams) (schema.SessionStatus, error) {
	return r.host.SessionStatus(ctx, nil, p)
}

// farewellSessions bounds the sessions that uninstall names.
const farewellSessions = 5

// farewell describes the sessions whose next prompt will not fit into their window once magicctx is gone, because the
// harness then sends all messages.
func farewell(ctx context.Context, place install.Place) (notes []string) {
	endpoint, err := daemon.NewEndpoint(place.DataDir)
	if err != nil {
		return nil
	}
	st, err := askHost(ctx, endpoint)
	if err != nil {
		reader, err := readStore(ctx, place.DataDir)
		if err != nil {
			return nil // there is no database, or it has a problem that doctor reports
		}
		defer reader.Close()
		if st, err = reader.Status(ctx); err != nil {
			return nil
		}
	}
	more := 0
	for _, s := range st.Sessions {
		size := s.RawTokens
		if s.Harness != place.Harness.ID || s.ContextTokens == 0 || size <= s.ContextTokens || place.Project != "" && s.Directory != place.Project {
			continue
		}
		if len(notes) == farewellSessions {
			more++
			continue
		}
		name := s.Session
		if s.Title != "" {
			name = fmt.Sprintf("%q (%s)", s.Title, s.Session)
		}
		notes = append(notes, fmt.Sprintf("Without magicctx, the next prompt of %s has about %s tokens, in a window of %s.", name, format.Tokens(size), format.Tokens(s.ContextTokens)))
	}
	if more > 0 {
		notes = append(notes, fmt.Sprintf("So it is for %s more.", format.Count(more, "session")))
	}
	if len(notes) > 0 {
		notes = append(notes, fmt.Sprintf("To go on with such a session, keep magicctx, or choose a model with a larger window. Or begin a new session in %s. "+
			"/compact helps only if the conversation itself still fits into the window, because it sends most of it in one request; magicctx does not change that request.", place.Harness.Name))
	}
	return notes
}
