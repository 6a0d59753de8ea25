package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/magicctx/magicctx-host/internal/doctor"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/view"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/rpc/daemon"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/file"
)

// statusTimeout bounds each request to the host. It can be short because a status never waits for a
// pass.
const statusTimeout = 5 * time.Second

type statusCmd struct {
	dataDirFlag
	JSON  bool `help:"Print JSON. With --watch one line for each change."`
	Watch bool `help:"Keep showing it until q or ctrl-c."`
}

// Run prints the status of the running host. It never starts a host.
func (cmd *statusCmd) Run(ctx context.Context, c *cli, s streams) error {
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	endpoint, err := daemon.NewEndpoint(dir)
	if err != nil {
		return err
	}
	if cmd.Watch {
		return cmd.watch(ctx, follower{endpoint: endpoint, dir: dir}, s)
	}
	st, err := askHost(ctx, endpoint)
	if errors.Is(err, daemon.ErrNoHost) {
		return &exitError{exitNoHost, noHost(ctx, dir)}
	}
	if err != nil {
		return unanswered(dir, err)
	}
	if cmd.JSON {
		content, err := json.MarshalIndent(st)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.out, "%s\n", format.CleanJSON(content))
		return err
	}
	return view.PrintStatus(s.out, st, time.Now())
}

func (cmd *statusCmd) watch(ctx context.Context, f follower, s streams) error {
	if cmd.JSON {
		return printChanges(ctx, f, s.out)
	}
	out, ok := s.out.(*os.File)
	if !ok || !isTerminal(out) {
		return errors.New("--watch draws on a terminal; where there is none use status --watch --json")
	}
	in, _ := s.in.(*os.File)
	return watch(ctx, f, in, out)
}

// noHost returns the error that no host is running and, if the reason is visible, why none can start.
func noHost(ctx context.Context, dir string) error {
	if problem, _ := doctor.Named(ctx, os.Getenv, rpc.Version, versionOf); problem != "" {
		return fmt.Errorf("no host is running for %s: %s", dir, problem)
	}
	return fmt.Errorf("no host is running for %s", dir)
}

// unanswered returns the error for a host that listens but sent no status. It names the process so that
// a person can end it.
func unanswered(dir string, err error) error {
	if refused := (*rpc.Error)(nil); errors.As(err, &refused) {
		return err
	}
	process := "process unknown"
	if pid := file.LastOwner(dir); pid > 0 {
		process = fmt.Sprintf("process %d, most likely", pid)
	}
	return fmt.Errorf("the host of %s (%s) does not answer: %w; see magicctx-host doctor", dir, process, err)
}

// askHost calls askStatus with statusTimeout.
func askHost(ctx context.Context, endpoint daemon.Endpoint) (schema.StatusResult, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	return askStatus(ctx, endpoint)
}

func askStatus(ctx context.Context, endpoint daemon.Endpoint) (st schema.StatusResult, err error) {
	client, err := greet(ctx, endpoint, nil)
	if err != nil {
		return st, err
	}
	defer client.Close(ctx)
	return st, client.Call(ctx, schema.MethodStatus, schema.StatusParams{}, &st)
}

// greet connects to the running host as an observer, which has no sessions.
func greet(ctx context.Context, endpoint daemon.Endpoint, handler rpc.Handler) (*rpc.Client, error) {
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
