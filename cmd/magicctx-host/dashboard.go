package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/dashboard"
	"github.com/magicctx/magicctx-host/cmd/magicctx-host/observer"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/rpc/daemon"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// dashboardCmd reads the database directly. A host need not be running.
type dashboardCmd struct {
	dataDirFlag
	Port uint16 `help:"TCP port on 127.0.0.1; without it, any free one." placeholder:"N"`
}

func (cmd *dashboardCmd) Run(ctx context.Context, s streams) error {
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	endpoint, err := daemon.NewEndpoint(dir)
	if err != nil {
		return err
	}
	return dashboard.Serve(ctx, dashboard.Options{
		Dir: dir, Port: cmd.Port,
		Follow: func(ctx context.Context, tell func(dashboard.State)) {
			observer.Follower{Endpoint: endpoint, Dir: dir}.Follow(ctx, func(n observer.News) { tell(dashboard.State{Status: n.Status, Away: n.Away}) })
		},
		Session: func(ctx context.Context, of schema.SessionStatusParams) (schema.SessionStatus, error) {
			return observer.Session(ctx, endpoint, of)
		},
		Keep: func(ctx context.Context, p schema.KeepParams) (schema.KeepResult, error) {
			kept, err := observer.Keep(ctx, endpoint, p)
			if refused, ok := errors.AsType[*rpc.Error](err); ok {
				err = errors.New(refused.Message) // without the code
			}
			return kept, err
		},
		Messages: cmd.messages, Read: storedSessions.Read, Identify: identify,
		Ready: func(url string) error {
			_, err := fmt.Fprintf(s.out, "Open this address once; ctrl-c ends the page:\n\n  %s\n", url)
			return err
		},
	})
}

func (cmd *dashboardCmd) messages(ctx context.Context, of store.Key, first, last int, w io.Writer) error {
	expand := historyExpandCmd{historyFlags: historyFlags{dataDirFlag: cmd.dataDirFlag, Harness: of.Harness}, Session: of.Session, Range: messageRange{first, last}}
	return expand.Run(ctx, streams{out: w})
}
