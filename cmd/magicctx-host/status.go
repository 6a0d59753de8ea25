package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
)

// statusTimeout bounds the whole command: status waits behind nothing.
const statusTimeout = 5 * time.Second

type statusCmd struct {
	dataDirFlag
	JSON bool `help:"Print JSON."`
}

// Run asks the running host how it is. It starts none.
func (cmd *statusCmd) Run(ctx context.Context, c *cli, s streams) error {
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	endpoint, err := rpc.NewEndpoint(dir)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	st, err := askStatus(ctx, endpoint)
	if errors.Is(err, rpc.ErrNoHost) {
		return &exitError{exitNoHost, fmt.Errorf("no host is running for %s", dir)}
	}
	if err != nil {
		return err
	}
	if cmd.JSON {
		content, err := json.MarshalIndent(st)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.out, "%s\n", content)
		return err
	}
	return printStatus(s.out, st, time.Now())
}

func askStatus(ctx context.Context, endpoint rpc.Endpoint) (st schema.StatusResult, err error) {
	conn, err := rpc.Dial(ctx, endpoint)
	if err != nil {
		return st, err
	}
	client := rpc.NewClient(conn, nil, nil)
	defer client.Close(ctx)
	hello := schema.InitializeParams{
		Protocol:      schema.Version{Major: schema.ProtocolMajor, Minor: schema.ProtocolMinor},
		Client:        "magicctx-host status",
		ClientVersion: rpc.Version,
		PID:           os.Getpid(),
	}
	if err := client.Call(ctx, schema.MethodInitialize, hello, nil); err != nil {
		return st, err
	}
	return st, client.Call(ctx, schema.MethodStatus, schema.StatusParams{}, &st)
}

func printStatus(w io.Writer, st schema.StatusResult, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "host\t%s, process %d, up %s\n", st.Version, st.PID, since(st.StartedAt, now))
	fmt.Fprintf(t, "store\t%s, schema %d\n", st.Database, st.StoreSchema)
	if !st.Enabled {
		fmt.Fprintf(t, "disabled\t%s\n", st.Reason)
	}
	if st.Bugs > 0 {
		fmt.Fprintf(t, "bugs\t%d, see the log\n", st.Bugs)
	}
	for _, c := range st.Clients {
		fmt.Fprintf(t, "client\t%s %s, process %d\n", c.Client, c.Version, c.PID)
		for _, d := range c.Directories {
			fmt.Fprintf(t, "\t%s\n", d)
		}
	}
	if err := t.Flush(); err != nil || len(st.Sessions) == 0 {
		return err
	}
	fmt.Fprintln(t, "\nSESSION\tMODEL\tPRESSURE\tTOKENS\tPASSES\tBUSTS\tLAST\tAGO")
	for _, s := range st.Sessions {
		last := string(s.LastVerdict)
		if s.LastCause != "" {
			last += " (" + s.LastCause + ")"
		}
		fmt.Fprintf(t, "%s/%s\t%s/%s\t%.0f%%\t%d\t%d\t%d\t%s\t%s\n",
			s.Harness, s.Session, s.Model.Provider, s.Model.ID, 100*s.Pressure, s.InputTokens,
			s.Passes, s.Busts, cmp.Or(last, "-"), since(s.LastPassAt, now))
	}
	return t.Flush()
}

// since says how long ago a Unix time in ms was.
func since(ms int64, now time.Time) string {
	if ms == 0 {
		return "-"
	}
	return now.Sub(time.UnixMilli(ms)).Round(time.Second).String()
}
