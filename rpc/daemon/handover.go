package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
)

// handoverTimeout limits how long a new host waits until the older host has finished its calls and stopped.
const handoverTimeout = rpc.DefaultGrace + 5*time.Second

// probeTimeout limits how long hostVersion waits for a host. A healthy host answers at once.
const probeTimeout = 5 * time.Second

// hostVersion returns the version and the endpoint of the running host. If the host is about to stop, the error is
// ErrNoHost.
func hostVersion(ctx context.Context, e Endpoint) (version string, at Endpoint, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, at, err := find(ctx, e)
	if err != nil {
		return "", at, err
	}
	client := rpc.NewClient(conn, nil, nil)
	defer client.Close(ctx)
	version, err = askVersion(ctx, client)
	var refused *rpc.Error
	switch {
	case err == nil:
		return version, at, nil
	case ctx.Err() != nil:
		return "", at, fmt.Errorf("the host does not answer: %w", err)
	case errors.As(err, &refused) && refused.Code != schema.CodeStopping:
		return "", at, err
	default:
		return "", at, fmt.Errorf("%w: %w", ErrNoHost, err)
	}
}

// An old host does not know new methods.
const codeMethodNotFound = -32601

// askVersion calls the method "version". If the host is too old to know this method, askVersion takes the version from
// the host's status. It prefers the method, because a status reads the store and can therefore fail.
func askVersion(ctx context.Context, client *rpc.Client) (string, error) {
	var r schema.VersionResult
	err := client.Call(ctx, schema.MethodVersion, schema.VersionParams{}, &r)
	if refused := (*rpc.Error)(nil); !errors.As(err, &refused) || refused.Code != codeMethodNotFound {
		return r.Version, err
	}
	var st schema.StatusResult
	err = client.Call(ctx, schema.MethodStatus, schema.StatusParams{}, &st)
	return st.Version, err
}

// askToStop asks the host to stop, and returns when the host no longer listens. The host may still be finishing its
// calls, so its successor must wait for the host lock.
func askToStop(ctx context.Context, e Endpoint) error {
	ctx, cancel := context.WithTimeout(ctx, handoverTimeout)
	defer cancel()
	conn, err := Dial(ctx, e)
	if err != nil {
		return err
	}
	client := rpc.NewClient(conn, nil, nil)
	defer client.Close(ctx)
	if err := client.Call(ctx, schema.MethodShutdown, schema.ShutdownParams{Host: true, Version: rpc.Version}, nil); err != nil {
		return err
	}
	for {
		conn, err := Dial(ctx, e)
		if errors.Is(err, ErrNoHost) {
			return nil
		}
		if err != nil {
			return err
		}
		conn.Close()
		select {
		case <-time.After(startPoll):
		case <-ctx.Done():
			return fmt.Errorf("wait for the host to leave: %w", context.Cause(ctx))
		}
	}
}

// An outdatedError means that the running host is from an older release.
type outdatedError struct {
	version string
	at      Endpoint
}

func (e *outdatedError) Error() string {
	return fmt.Sprintf("magicctx-host %s is running, this is %s", e.version, rpc.Version)
}

// takeOver makes the older host stop. If that host has already gone, takeOver returns nil.
func (e *outdatedError) takeOver(ctx context.Context) error {
	if err := askToStop(ctx, e.at); err != nil && !errors.Is(err, ErrNoHost) {
		return fmt.Errorf("%w, and the older one does not make place: %w; end its process and try again", e, err)
	}
	return nil
}

// isOlder compares releases such as v1.2.3.
func isOlder(a, b string) bool {
	va, okA := parseRelease(a)
	vb, okB := parseRelease(b)
	if !okA || !okB {
		return false
	}
	for i := range va {
		if c := cmp.Compare(va[i], vb[i]); c != 0 {
			return c < 0
		}
	}
	return false
}

// parseRelease refuses a pre-release such as v1.2.3-rc.1, and a pseudo-version.
func parseRelease(v string) (numbers [3]int, ok bool) {
	parts := strings.Split(strings.TrimPrefix(v, "v"), ".")
	if len(parts) != len(numbers) {
		return numbers, false
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return numbers, false
		}
		numbers[i] = n
	}
	return numbers, true
}
