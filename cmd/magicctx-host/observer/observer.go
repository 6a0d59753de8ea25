package observer

import (
	"context"
	"os"
	"time"

	"github.com/magicctx/magicctx-host/internal/doctor"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/rpc/daemon"
	"github.com/magicctx/magicctx-host/schema"
)

// Timeout limits each request to the host. A status is fast, because it never waits for a pass.
const Timeout = 5 * time.Second

// If the running host was started from another build of the program, OtherProgram returns a warning.
func OtherProgram(st schema.StatusResult) []schema.Warning {
	if st.PID == 0 { // no host is running
		return nil
	}
	problem, remedy := doctor.OtherProgram(st, rpc.Version, program.Hash())
	if problem == "" {
		return nil
	}
	return []schema.Warning{{Source: "program", Message: problem + ". Remedy: " + remedy}}
}

// Status asks the running host for its status.
func Status(ctx context.Context, endpoint daemon.Endpoint) (schema.StatusResult, error) {
	return ask[schema.StatusResult](ctx, endpoint, schema.MethodStatus, schema.StatusParams{})
}

// Session asks the running host for the status of one session.
func Session(ctx context.Context, endpoint daemon.Endpoint, p schema.SessionStatusParams) (schema.SessionStatus, error) {
	return ask[schema.SessionStatus](ctx, endpoint, schema.MethodSessionStatus, p)
}

func Keep(ctx context.Context, endpoint daemon.Endpoint, p schema.KeepParams) (schema.KeepResult, error) {
	return ask[schema.KeepResult](ctx, endpoint, schema.MethodSessionKeep, p)
}

func ask[T any](ctx context.Context, endpoint daemon.Endpoint, method string, params any) (result T, err error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	client, err := Greet(ctx, endpoint, nil)
	if err != nil {
		return result, err
	}
	defer client.Close(ctx)
	err = client.Call(ctx, method, params, &result)
	return result, err
}

// Greet connects to the running host as a client that has no sessions.
func Greet(ctx context.Context, endpoint daemon.Endpoint, handler rpc.Handler) (*rpc.Client, error) {
	conn, err := daemon.Dial(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	client := rpc.NewClient(conn, handler, nil)
	err = client.Call(ctx, schema.MethodInitialize, schema.InitializeParams{
		Protocol:      schema.Version{Major: schema.ProtocolMajor, Minor: schema.ProtocolMinor},
		Client:        "magicctx-host status",
		ClientVersion: rpc.Version,
		PID:           os.Getpid(),
	}, nil)
	if err != nil {
		client.Close(ctx)
		return nil, err
	}
	return client, nil
}
