package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
)

const (
	// refreshEvery is how often a status is asked for when no session changes.
	refreshEvery = time.Second
	// refreshPause is the least time between two questions: sessions that work
	// side by side finish many passes a second.
	refreshPause = 100 * time.Millisecond
)

// A follower keeps asking the host of a data directory, and tries again for as
// long as there is none. It starts none.
type follower struct {
	endpoint rpc.Endpoint
	dir      string
}

// news is what a follower hears: a status, or why there is none.
type news struct {
	status *schema.StatusResult
	away   string
	// changed tells that a session had a pass, or that the host was just found.
	changed bool
}

// follow calls tell with all news, one at a time, until ctx ends.
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
	if errors.Is(err, rpc.ErrNoHost) {
		return "no host is running for " + f.dir
	}
	return err.Error()
}

var errHostLeft = errors.New("the host has ended")

// listen follows one host until it is gone.
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

// subscribe connects and has every pass announced in changed.
func (f follower) subscribe(ctx context.Context, changed chan<- struct{}) (*rpc.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	client, err := greet(ctx, f.endpoint, func(_ context.Context, method string, _ json.Value) (any, error) {
		if method == schema.MethodSessionChanged {
			select {
			case changed <- struct{}{}:
			default: // one is pending
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
	return st, client.Call(ctx, schema.MethodStatus, schema.StatusParams{}, st)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// printChanges prints a status as a line of JSON whenever a session has changed.
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
			_, err = fmt.Fprintf(w, "%s\n", line)
		}
		if err != nil { // whoever read it has left
			failed = err
			stop()
		}
	})
	return failed
}
