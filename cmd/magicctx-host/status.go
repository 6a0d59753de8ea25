package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/magicctx/magicctx-host/internal/doctor"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/printable"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
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
	endpoint, err := rpc.NewEndpoint(dir)
	if err != nil {
		return err
	}
	if cmd.Watch {
		return cmd.watch(ctx, follower{endpoint: endpoint, dir: dir}, s)
	}
	st, err := askHost(ctx, endpoint)
	if errors.Is(err, rpc.ErrNoHost) {
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
		_, err = fmt.Fprintf(s.out, "%s\n", printable.JSON(content))
		return err
	}
	return printStatus(s.out, st, time.Now())
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
	if pid := store.LastOwner(dir); pid > 0 {
		process = fmt.Sprintf("process %d, most likely", pid)
	}
	return fmt.Errorf("the host of %s (%s) does not answer: %w; see magicctx-host doctor", dir, process, err)
}

// askHost calls askStatus with statusTimeout.
func askHost(ctx context.Context, endpoint rpc.Endpoint) (schema.StatusResult, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	return askStatus(ctx, endpoint)
}

func askStatus(ctx context.Context, endpoint rpc.Endpoint) (st schema.StatusResult, err error) {
	client, err := greet(ctx, endpoint, nil)
	if err != nil {
		return st, err
	}
	defer client.Close(ctx)
	return st, client.Call(ctx, schema.MethodStatus, schema.StatusParams{}, &st)
}

// greet connects to the running host as an observer, which has no sessions.
func greet(ctx context.Context, endpoint rpc.Endpoint, handler rpc.Handler) (*rpc.Client, error) {
	conn, err := rpc.Dial(ctx, endpoint)
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

func printStatus(w io.Writer, st schema.StatusResult, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "host\t%s, process %d, up %s, %s of memory\n", clean(st.Version), st.PID, ago(st.StartedAt, now), byteCount(st.MemoryBytes))
	fmt.Fprintf(t, "store\t%s, schema %d, %s\n", clean(st.Database), st.StoreSchema, byteCount(st.StoreBytes))
	if !st.Enabled {
		fmt.Fprintf(t, "disabled\t%s\n", clean(st.Reason))
	}
	for _, w := range st.Warnings {
		fmt.Fprintf(t, "warning\t%s\n", clean(w.Message))
	}
	for _, c := range st.Clients {
		fmt.Fprintf(t, "client\t%s %s, process %d\n", clean(c.Client), clean(c.Version), c.PID)
		for _, d := range c.Directories {
			fmt.Fprintf(t, "\t%s\n", clean(d))
		}
	}
	if err := t.Flush(); err != nil || len(st.Sessions) == 0 {
		return err
	}
	fmt.Fprintln(t, "\nSESSION\tMODEL\tPRESSURE\tTOKENS\tWINDOW\tHITS\tPASSES\tBUSTS\tLAST\tAGO")
	for _, s := range st.Sessions {
		last := string(s.LastVerdict)
		if s.LastCause != "" {
			last += " (" + clean(s.LastCause) + ")"
		}
		fmt.Fprintf(t, "%s/%s\t%s/%s\t%s\t%d\t%s\t%s\t%d\t%d\t%s\t%s\n",
			clean(string(s.Harness)), clean(s.Session), clean(s.Model.Provider), clean(s.Model.ID), percentOf(s), s.InputTokens, shortWindowOf(s), hitOf(s),
			s.Passes, s.Busts, cmp.Or(last, "-"), ago(s.LastPassAt, now))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := printContents(w, st.Sessions); err != nil {
		return err
	}
	return printCacheLives(w, st.Sessions)
}

// printCacheLives prints how long the cached prefixes of each model live, with the reason.
func printCacheLives(w io.Writer, sessions []schema.SessionStatus) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	told := map[string]bool{}
	for _, s := range sessions {
		line := clean(s.Model.Provider) + "/" + clean(s.Model.ID) + "\tcache life " + cacheLifeOf(s)
		if s.CacheLifeReason == "" || told[line] {
			continue
		}
		if len(told) == 0 {
			fmt.Fprintln(t)
		}
		told[line] = true
		fmt.Fprintln(t, line)
	}
	return t.Flush()
}

// printContents prints for each session which sources its context consists of.
func printContents(w io.Writer, sessions []schema.SessionStatus) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	var names []string
	for _, part := range sources(schema.TokensBySource{}) {
		names = append(names, strings.ToUpper(part.name))
	}
	fmt.Fprintf(t, "\n%s\tDROPPED\tQUEUED\t  SESSION, BUSTS BY CAUSE\n", strings.Join(names, "\t"))
	for _, s := range sessions {
		for _, part := range sources(s.Tokens) {
			fmt.Fprintf(t, "%s\t", tokenCount(part.tokens))
		}
		name := fmt.Sprintf("%s/%s", s.Harness, clean(s.Session))
		if causes := causesOf(s); causes != "" {
			name += ": " + causes
		}
		fmt.Fprintf(t, "%s\t%d\t  %s\n", tokenCount(s.Tokens.Dropped), s.Queued, name)
	}
	return t.Flush()
}
