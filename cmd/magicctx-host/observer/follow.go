package observer

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/rpc/daemon"
	"github.com/magicctx/magicctx-host/schema"
)

const (
	// The host announces changes of sessions by itself, but not changes of the rest of the status, for example a
	// new warning. So the follower also requests the status at this interval.
	refreshEvery = 5 * time.Second
	retryEvery   = time.Second
	// Several busy sessions would otherwise cause many reports a second.
	reportPause = 100 * time.Millisecond
)

// A Follower follows the host of the data directory Dir. It never starts a host.
type Follower struct {
	Endpoint daemon.Endpoint
	Dir      string
}

// News is a status, or the reason for its absence.
type News struct {
	Status *schema.StatusResult
	Away   string
	// Changed means that a session has changed, or that the follower has connected to the host. It is false if the
	// follower has only requested the status again.
	Changed bool
}

// Follow passes each News to the function `tell`, one after another, until ctx ends.
func (f Follower) Follow(ctx context.Context, tell func(News)) {
	for ctx.Err() == nil {
		err := f.listen(ctx, tell)
		if ctx.Err() != nil {
			return
		}
		tell(News{Away: f.reason(err)})
		pause(ctx, retryEvery)
	}
}

func (f Follower) reason(err error) string {
	if errors.Is(err, daemon.ErrNoHost) {
		return "no host is running for " + f.Dir
	}
	return err.Error()
}

var errHostLeft = errors.New("the host has ended")

func (f Follower) listen(ctx context.Context, tell func(News)) error {
	in := inbox{arrived: make(chan struct{}, 1)}
	client, err := f.subscribe(ctx, &in)
	if err != nil {
		return err
	}
	defer client.Close(ctx)
	st, err := f.ask(ctx, client)
	if err != nil {
		return err
	}
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	for isChange := true; ; {
		tell(News{Status: st, Changed: isChange})
		pause(ctx, reportPause)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-client.Done():
			return errHostLeft
		case <-in.arrived:
			isChange, st = true, with(*st, in.take())
		case <-tick.C:
			isChange = false
			if st, err = f.ask(ctx, client); err != nil {
				return err
			}
		}
	}
}

type inbox struct {
	arrived chan struct{}
	mu      sync.Mutex
	waiting []schema.SessionStatus
}

func isSame(a, b schema.SessionStatus) bool { return a.Harness == b.Harness && a.Session == b.Session }

func (in *inbox) put(st schema.SessionStatus) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.waiting = append(slices.DeleteFunc(in.waiting, func(old schema.SessionStatus) bool { return isSame(old, st) }), st)
	select {
	case in.arrived <- struct{}{}:
	default: // an announcement is already waiting in the channel
	}
}

func (in *inbox) take() []schema.SessionStatus {
	in.mu.Lock()
	defer in.mu.Unlock()
	all := in.waiting
	in.waiting = nil
	return all
}

func with(st schema.StatusResult, changed []schema.SessionStatus) *schema.StatusResult {
	st.Sessions = slices.Clone(st.Sessions)
	for _, s := range changed {
		s.Memories, s.Notes, s.Panel = 0, 0, nil // the list of all sessions has none of these either
		i := slices.IndexFunc(st.Sessions, func(old schema.SessionStatus) bool { return isSame(old, s) })
		if i < 0 {
			i = len(st.Sessions)
			st.Sessions = append(st.Sessions, s)
			st.KnownSessions = max(st.KnownSessions+1, len(st.Sessions))
		}
		st.Sessions[i] = s
	}
	slices.SortStableFunc(st.Sessions, func(a, b schema.SessionStatus) int { return cmp.Compare(b.LastPassAt, a.LastPassAt) })
	return &st
}

// The method `subscribe` asks the host to send the status of each session that changes.
func (f Follower) subscribe(ctx context.Context, in *inbox) (*rpc.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	client, err := Greet(ctx, f.Endpoint, func(_ context.Context, method string, params json.Value) (any, error) {
		var st schema.SessionStatus
		if method == schema.MethodSessionChanged && json.Unmarshal(params, &st) == nil {
			in.put(st)
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
