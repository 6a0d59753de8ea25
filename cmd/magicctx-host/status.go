package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

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
	Session string `arg:"" optional:"" help:"Show this session only: its id, or the end of it."`
	JSON    bool   `help:"Print JSON. With --watch one line for each change."`
	Watch   bool   `help:"Keep showing it until q or ctrl-c. Arrow keys scroll, s sorts, / filters." xor:"way"`
	Dropped bool   `help:"List what was dropped from the session: when, how much, and by which rule." xor:"way"`
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
	page := view.Page{Width: widthOf(s.out), Color: wantsColor(s.out), Now: time.Now()}
	if cmd.Session == "" && !cmd.Dropped {
		if cmd.JSON {
			return printJSON(s.out, st)
		}
		return view.PrintStatus(s.out, st, page)
	}
	session, err := cmd.session(ctx, endpoint, st)
	switch {
	case err != nil:
		return err
	case cmd.JSON:
		return printJSON(s.out, session)
	case cmd.Dropped:
		return view.PrintDropped(s.out, session, page)
	}
	return view.PrintSession(s.out, session, page)
}

// session asks for the session that the user named, or for the one that worked last.
func (cmd *statusCmd) session(ctx context.Context, endpoint daemon.Endpoint, st schema.StatusResult) (schema.SessionStatus, error) {
	p := schema.SessionStatusParams{Harness: schema.HarnessOpenCode, Session: cmd.Session, Dropped: cmd.Dropped}
	var named []schema.SessionStatus
	for _, known := range st.Sessions {
		if known.Session == cmd.Session {
			named = []schema.SessionStatus{known}
			break
		}
		if strings.HasSuffix(known.Session, cmd.Session) {
			named = append(named, known)
		}
	}
	switch {
	case cmd.Session == "" && len(named) == 0:
		return schema.SessionStatus{}, errors.New("there is no session yet")
	case len(named) > 1 && cmd.Session != "":
		return schema.SessionStatus{}, fmt.Errorf("%d sessions end in %q, for example %s and %s", len(named), cmd.Session, named[0].Session, named[1].Session)
	case len(named) > 0:
		p.Harness, p.Session = named[0].Harness, named[0].Session
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	client, err := greet(ctx, endpoint, nil)
	if err != nil {
		return schema.SessionStatus{}, err
	}
	defer client.Close(ctx)
	var session schema.SessionStatus
	if err := client.Call(ctx, schema.MethodSessionStatus, p, &session); err != nil {
		return session, fmt.Errorf("ask for session %s: %w", p.Session, err)
	}
	return session, nil
}

func printJSON(w io.Writer, value any) error {
	content, err := json.MarshalIndent(value)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", format.CleanJSON(content))
	return err
}

// defaultWidth is the width of an output that is not a terminal.
const defaultWidth = 80

// widthOf returns the number of columns of an output.
func widthOf(w io.Writer) int {
	if file, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width > 0 {
		return width
	}
	return defaultWidth
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
	return watch(ctx, f, in, out, view.Choice{Filter: cmd.Session})
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
