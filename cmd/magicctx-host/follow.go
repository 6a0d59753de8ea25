package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/rpc/daemon"
	"github.com/magicctx/magicctx-host/schema"
)

const (
	// refreshEvery is the interval between two status requests while no session changes.
	refreshEvery = time.Second
	// refreshPause is the shortest time between two status requests. Without it, several busy sessions
	// would cause many requests a second.
	refreshPause = 100 * time.Millisecond
)

// A follower polls the host of a data directory. While no host runs, it keeps trying, and it never
// starts one.
type follower struct {
	endpoint daemon.Endpoint
	dir      string
}

// news is one report of a follower: a status, or the reason for its absence.
type news struct {
	status *schema.StatusResult
	away   string
	// changed is true if a session has had a pass, or if the follower has just connected to the host.
	changed bool
}

// follow passes every report to tell, one at a time, until ctx ends.
func (f follower) follow(ctx context.Context, tell func(news)) {
	for ctx.Err() == nil {
		err := f.listen(ctx, tell)
		if ctx.Err() != nil {
			return
		}
		tell(news{away: f.reason(err)})
		pause(ctx, refreshEvery)
	}
}

func (f follower) reason(err error) string {
	if errors.Is(err, daemon.ErrNoHost) {
		return "no host is running for " + f.dir
	}
	return err.Error()
}

var errHostLeft = errors.New("the host has ended")

// listen follows one host until the host is gone.
func (f follower) listen(ctx context.Context, tell func(news)) error {
	changed := make(chan struct{}, 1)
	client, err := f.subscribe(ctx, changed)
	if err != nil {
		return err
	}
	defer client.Close(ctx)
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	for isChange := true; ; {
		st, err := f.ask(ctx, client)
		if err != nil {
			return err
		}
		tell(news{status: st, changed: isChange})
		pause(ctx, refreshPause)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-client.Done():
			return errHostLeft
		case <-changed:
			isChange = true
		case <-tick.C:
			isChange = false
		}
	}
}

// subscribe connects to the host, which then announces every pass in changed.
func (f follower) subscribe(ctx context.Context, changed chan<- struct{}) (*rpc.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	client, err := greet(ctx, f.endpoint, func(_ context.Context, method string, _ json.Value) (any, error) {
		if method == schema.MethodSessionChanged {
			select {
			case changed <- struct{}{}:
			default: // an announcement is already waiting in the channel
			}
		}
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	if err := client.Call(ctx, schema.MethodSessionSubscribe, schema.SubscribeParams{}, nil); err != nil {
		client.Close(ctx)
		return nil, err
	}
	return client, nil
}

func (f follower) ask(ctx context.Context, client *rpc.Client) (*schema.StatusResult, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	st := new(schema.StatusResult)
	err := client.Call(ctx, schema.MethodStatus, schema.StatusParams{}, st)
	st.Warnings = append(otherProgram(*st), st.Warnings...)
	return st, err
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// printChanges prints the status as one line of JSON after each change of a session.
func printChanges(ctx context.Context, f follower, w io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var failed error
	f.follow(ctx, func(n news) {
		if !n.changed {
			return
		}
		line, err := json.Marshal(n.status)
		if err == nil {
			_, err = fmt.Fprintf(w, "%s\n", format.CleanJSON(line))
		}
		if err != nil { // the reader of the pipe has ended, for example in `| head`
			failed = err
			stop()
		}
	})
	return failed
}
