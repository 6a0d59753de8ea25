package observer

import (
	"context"
	"errors"
	"time"

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

// A Follower polls the host of a data directory. While no host runs, it keeps trying, and it never
// starts one.
type Follower struct {
	Endpoint daemon.Endpoint
	// Dir is the data directory of the host.
	Dir string
}

// News is one report of a Follower: a status, or the reason for its absence.
type News struct {
	Status *schema.StatusResult
	Away   string
	// Changed is true if a session has had a pass, or if the follower has just connected to the host.
	Changed bool
}

// Follow passes every report to tell, one at a time, until ctx ends.
func (f Follower) Follow(ctx context.Context, tell func(News)) {
	for ctx.Err() == nil {
		err := f.listen(ctx, tell)
		if ctx.Err() != nil {
			return
		}
		tell(News{Away: f.reason(err)})
		pause(ctx, refreshEvery)
	}
}

func (f Follower) reason(err error) string {
	if errors.Is(err, daemon.ErrNoHost) {
		return "no host is running for " + f.Dir
	}
	return err.Error()
}

var errHostLeft = errors.New("the host has ended")

// listen follows one host until the host is gone.
func (f Follower) listen(ctx context.Context, tell func(News)) error {
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
		tell(News{Status: st, Changed: isChange})
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
func (f Follower) subscribe(ctx context.Context, changed chan<- struct{}) (*rpc.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	client, err := Greet(ctx, f.Endpoint, func(_ context.Context, method string, _ json.Value) (any, error) {
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

func (f Follower) ask(ctx context.Context, client *rpc.Client) (*schema.StatusResult, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	st := new(schema.StatusResult)
	err := client.Call(ctx, schema.MethodStatus, schema.StatusParams{}, st)
	st.Warnings = append(OtherProgram(*st), st.Warnings...)
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
