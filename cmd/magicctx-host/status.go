package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/observer"
	"github.com/magicctx/magicctx-host/cmd/magicctx-host/terminal"
	"github.com/magicctx/magicctx-host/cmd/magicctx-host/watch"
	"github.com/magicctx/magicctx-host/internal/doctor"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/internal/view"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/rpc/daemon"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/file"
)

type statusCmd struct {
	dataDirFlag
	Session string `arg:"" optional:"" help:"Show this session only: its id, or the end of it."`
	Harness string `help:"Show sessions of this harness only: ${harnesses}." enum:",${harnesses}" default:"" placeholder:"NAME"`
	JSON    bool   `help:"Print JSON. With --watch one line for each change."`
	Watch   bool   `help:"Keep showing it until q or ctrl-c. The key ? lists the keys." xor:"way"`
	Plain   bool   `help:"For a screen reader: no bar, and with --watch a line for each event."`
	Dropped bool   `help:"List what was dropped from the session: when, how much, and by which rule." xor:"way"`
}

// Run never starts a host. If no host is running, Run prints the last known sessions and returns an error.
func (cmd *statusCmd) Run(ctx context.Context, c *cli, s streams) (failed error) {
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	endpoint, err := daemon.NewEndpoint(dir)
	if err != nil {
		return err
	}
	if cmd.Watch {
		return cmd.watch(ctx, observer.Follower{Endpoint: endpoint, Dir: dir}, s)
	}
	ask := func(ctx context.Context, p schema.SessionStatusParams) (schema.SessionStatus, error) {
		return observer.Session(ctx, endpoint, p)
	}
	st, err := observer.Status(ctx, endpoint)
	if errors.Is(err, daemon.ErrNoHost) {
		away := &exitError{exitNoHost, noHost(ctx, dir)}
		reader, err := readStore(ctx, dir)
		if err != nil {
			return away
		}
		defer reader.Close()
		if st, err = reader.Status(ctx); err != nil || len(st.Sessions) == 0 {
			return away
		}
		ask = reader.Session
		defer func() { failed = errors.Join(failed, away) }()
	} else if err != nil {
		return unanswered(dir, err)
	}
	st.Warnings = append(observer.OtherProgram(st), st.Warnings...)
	page := pageOf(s)
	page.Plain = cmd.Plain
	page.NamesHarness = view.SeveralHarnesses(st.Sessions)
	if st.Sessions = cmd.chosen(st.Sessions); cmd.Harness != "" {
		st.KnownSessions = len(st.Sessions) // sessions of the other harness do not count
	}
	if cmd.Session == "" && !cmd.Dropped {
		if cmd.JSON {
			return printJSON(s.out, st)
		}
		return view.PrintStatus(s.out, st, page)
	}
	session, err := cmd.session(ctx, ask, st)
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

func (cmd *statusCmd) chosen(all []schema.SessionStatus) []schema.SessionStatus {
	return slices.DeleteFunc(all, func(st schema.SessionStatus) bool {
		return cmd.Harness != "" && st.Harness != schema.Harness(cmd.Harness)
	})
}

// The method `named` finds the session that the user means, by its id or by the end of its id. If the user gives no id,
// it returns the session with the newest pass. If sessions of two harnesses have the given id, the error asks the user
// to name the harness.
func (cmd *statusCmd) named(sessions []schema.SessionStatus) ([]schema.SessionStatus, error) {
	if cmd.Session == "" {
		if len(sessions) == 0 {
			return nil, errors.New("there is no session yet")
		}
		return sessions[:1], nil
	}
	return choose(sessions, cmd.Session, func(st schema.SessionStatus) (schema.Harness, string) { return st.Harness, st.Session })
}

// choose returns the session with the id `wanted`. If there is no such session, it returns the session whose id ends
// with `wanted`. If several sessions match, choose returns an error. The argument `sessions` must begin with the newest
// session. If a session was continued in another version of its harness, `sessions` contains it twice, and choose
// ignores the older entry.
func choose[T any](sessions []T, wanted string, nameOf func(T) (schema.Harness, string)) ([]T, error) {
	type name struct {
		program schema.Harness
		id      string
	}
	var exact, ending []T
	seen := map[name]bool{}
	for _, s := range sessions {
		harness, id := nameOf(s)
		n := name{harness.Program(), id}
		if seen[n] {
			continue
		}
		seen[n] = true
		if id == wanted {
			exact = append(exact, s)
		}
		if strings.HasSuffix(id, wanted) {
			ending = append(ending, s)
		}
	}
	switch {
	case len(exact) > 1:
		one, _ := nameOf(exact[0])
		other, _ := nameOf(exact[1])
		return nil, fmt.Errorf("%s and %s both have a session %q; say which one you mean: --harness %s, or --harness %s", one, other, wanted, one, other)
	case len(exact) == 1:
		return exact, nil
	case len(ending) > 1:
		one, id := nameOf(ending[0])
		other, otherID := nameOf(ending[1])
		return nil, fmt.Errorf("%d sessions end in %q, for example %s of %s and %s of %s", len(ending), wanted, id, one, otherID, other)
	}
	return ending, nil
}

// A sessionAsker asks for the status of one session. If the harness does not have this session, the sessionAsker
// returns an error whose method IsInvalidParams returns true.
type sessionAsker func(context.Context, schema.SessionStatusParams) (schema.SessionStatus, error)

func (cmd *statusCmd) session(ctx context.Context, ask sessionAsker, st schema.StatusResult) (session schema.SessionStatus, err error) {
	named, err := cmd.named(st.Sessions)
	if err != nil {
		return session, err
	}
	p := schema.SessionStatusParams{Session: cmd.Session, Dropped: cmd.Dropped}
	candidates := schema.Harnesses // a status lists only the newest sessions, so an older session must be asked for
	if len(named) > 0 {
		p.Session, candidates = named[0].Session, []schema.Harness{named[0].Harness}
	} else if cmd.Harness != "" {
		candidates = []schema.Harness{schema.Harness(cmd.Harness)}
	}
	var found []schema.SessionStatus
	failed := cmd.noSession(p.Session)
	for _, harness := range candidates {
		p.Harness = harness
		answer, err := ask(ctx, p)
		var refused interface{ IsInvalidParams() bool }
		switch {
		case err == nil:
			found = append(found, answer)
		case !errors.As(err, &refused) || !refused.IsInvalidParams(): // otherwise the harness has no such session
			failed = fmt.Errorf("ask for session %s: %w", p.Session, err)
		}
	}
	if len(found) == 0 {
		return session, failed
	}
	if len(candidates) > 1 {
		slices.SortStableFunc(found, func(a, b schema.SessionStatus) int { return cmp.Compare(b.LastPassAt, a.LastPassAt) })
		if found, err = cmd.named(found); err != nil {
			return session, err
		}
	}
	return found[0], nil
}

func (cmd *statusCmd) noSession(id string) error {
	owner := ""
	if cmd.Harness != "" {
		owner = cmd.Harness + " has "
	}
	return fmt.Errorf("%sno session %q; %s status lists the newest, on a wide terminal and with --json also their ids", owner, id, program.Name())
}

func harnessNames(ids []schema.Harness) string {
	var names []string
	for _, id := range ids {
		names = append(names, string(id))
	}
	return strings.Join(names, ",")
}

func printJSON(w io.Writer, value any) error {
	content, err := json.MarshalIndent(value)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", format.CleanJSON(content))
	return err
}

const defaultWidth = 80

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

func (cmd *statusCmd) watch(ctx context.Context, f observer.Follower, s streams) error {
	o := watch.Options{
		Follow: f.Follow, Dir: f.Dir, Page: pageOf(s), Choice: view.Choice{Filter: cmd.Session, Harness: schema.Harness(cmd.Harness)},
	}
	if cmd.JSON {
		return watch.JSON(ctx, o, s.out, s.err)
	}
	out, isFile := s.out.(*os.File)
	isFile = isFile && terminal.Is(out)
	switch {
	case cmd.Plain, isFile && os.Getenv("TERM") == "dumb": // such a terminal cannot move its cursor
		o.Page.Plain = true
		return watch.Plain(ctx, o, s.out)
	case !isFile:
		return errors.New("--watch draws on a terminal; where there is none use status --watch --plain, or --watch --json")
	}
	in, _ := s.in.(*os.File)
	if !terminal.Is(in) {
		in = nil
	}
	return watch.Screen(ctx, o, in, out)
}

// noHost returns the error for a command that needs a running host. If noHost can find out why no host can start, the
// error gives this reason.
func noHost(ctx context.Context, dir string) error {
	if problem, _ := doctor.Named(ctx, os.Getenv, rpc.Version, doctor.VersionOf); problem != "" {
		return fmt.Errorf("no host is running for %s: %s", dir, problem)
	}
	return fmt.Errorf("no host is running for %s; the next session of OpenCode or Pi starts one, and %s doctor says whether it can", dir, program.Name())
}

// unanswered returns the error for a host that does not answer. The error names the host's process, so that the user
// can end it. If the host has answered with an error, unanswered returns that error.
func unanswered(dir string, err error) error {
	if refused := (*rpc.Error)(nil); errors.As(err, &refused) {
		return err
	}
	process := "process unknown"
	if pid := file.LastOwner(dir); pid > 0 {
		process = fmt.Sprintf("process %d, most likely", pid)
	}
	return fmt.Errorf("the host of %s (%s) does not answer: %w; see %s doctor", dir, process, err, program.Name())
}
