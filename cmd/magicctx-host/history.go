package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/terminal"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/view"
	"github.com/magicctx/magicctx-host/internal/wirediff"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// historyCmd reads the database itself, so it needs no host.
type historyCmd struct {
	List   historyListCmd   `cmd:"" default:"withargs" help:"List the sessions that have summaries."`
	Show   historyShowCmd   `cmd:"" help:"Show the summaries of a session."`
	Expand historyExpandCmd `cmd:"" help:"Print messages of a session to the letter, from the harness's own store."`
}

type historyFlags struct {
	dataDirFlag
	Harness string `help:"Sessions of this program only: ${readable}." enum:",${readable}" default:"" placeholder:"NAME"`
}

type historyListCmd struct {
	historyFlags
	JSON bool `help:"Print JSON."`
}

func (cmd *historyListCmd) Run(ctx context.Context, s streams) error {
	var rows []store.HistoryOverview
	err := cmd.browse(ctx, func(b *store.Browser) (err error) {
		rows, err = b.Histories()
		return err
	})
	if err != nil {
		return err
	}
	all := []view.HistorySession{} // not nil, so that the JSON of an empty list is []
	for _, row := range rows {
		if cmd.isWanted(row.Key) {
			all = append(all, historySessionOf(row))
		}
	}
	if cmd.JSON {
		return printJSON(s.out, struct {
			Sessions []view.HistorySession `json:"sessions"`
		}{all})
	}
	return view.PrintHistories(s.out, all, pageOf(s))
}

type historyShowCmd struct {
	historyFlags
	Session string       `arg:"" help:"Id of the session, or the end of it."`
	Range   messageRange `arg:"" optional:"" help:"Show the whole summaries of these messages, for example 12, 12-20 or 12-."`
	JSON    bool         `help:"Print JSON."`
}

func (cmd *historyShowCmd) Run(ctx context.Context, s streams) error {
	var session store.HistoryOverview
	var rows []chronicle.Compartment
	err := cmd.browse(ctx, func(b *store.Browser) error {
		found, err := cmd.find(b, cmd.Session)
		if err != nil {
			return err
		}
		if found == nil {
			return fmt.Errorf("no session %q; %s history list names those that have summaries", cmd.Session, program.Name())
		}
		if session, err = b.History(*found); err != nil {
			return err
		}
		rows, err = b.Compartments(found.Key)
		return err
	})
	if err != nil {
		return err
	}
	all := slices.DeleteFunc(rows, func(c chronicle.Compartment) bool { return !cmd.Range.touches(c.Start, c.End) })
	if len(all) == 0 && cmd.Range.isGiven() {
		return noSummary(cmd.Range, session.Messages)
	}
	about := historySessionOf(session)
	switch {
	case cmd.JSON:
		return printJSON(s.out, struct {
			view.HistorySession
			Compartments []chronicle.Compartment `json:"compartments"`
		}{about, all})
	case cmd.Range.isGiven():
		return view.PrintCompartments(s.out, about, all, pageOf(s))
	}
	return view.PrintHistory(s.out, about, all, pageOf(s))
}

// The compartments cover all messages from 1 to `covered`.
func noSummary(r messageRange, covered int) error {
	if covered == 0 {
		return fmt.Errorf("this session has no summaries yet; %s history expand shows its messages", program.Name())
	}
	return fmt.Errorf("no summary covers %s; the summaries of this session cover the messages 1-%d", r, covered)
}

type historyExpandCmd struct {
	historyFlags
	Session  string       `arg:"" help:"Id of the session, or the end of it."`
	Range    messageRange `arg:"" optional:"" help:"The messages, for example 12, 12-20 or 12-. By default all of them."`
	JSON     bool         `help:"Print JSON, one line for each message." xor:"form"`
	Outline  bool         `help:"Print the beginning of each text, and of each result only its size." xor:"form"`
	Thinking bool         `help:"Print the model's thinking, too, as far as it is readable."`
}

func (cmd *historyExpandCmd) Run(ctx context.Context, s streams) error {
	candidates, err := cmd.candidates(ctx)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(s.out)
	start, end := cmd.Range.bounds()
	var problems []error
	for _, session := range candidates {
		p := expandPrinter{cmd: cmd, out: out, page: pageOf(s)}
		extent, err := storedSessions.Read(ctx, session, start, end, p.print)
		err = cmp.Or(err, p.err)
		if err != nil && p.printed == 0 && len(candidates) > 1 { // the session may belong to the next harness
			same := func(p error) bool { return p.Error() == err.Error() } // both OpenCodes have one database
			problems = append(slices.DeleteFunc(problems, same), err)
			continue
		}
		if err == nil && p.printed == 0 {
			err = extent.Missing(start, end)
		}
		if err == nil && !cmd.JSON {
			err = view.PrintExtent(out, view.Extent{First: extent.First, Last: extent.Last, Path: extent.Path}, p.page)
		}
		return errors.Join(err, out.Flush())
	}
	if len(problems) == 0 {
		return fmt.Errorf("there is no harness %q", format.Clean(cmd.Harness))
	}
	return fmt.Errorf("no harness gives the messages of session %s; %s search and history list show ids:\n%w", format.Clean(cmd.Session), program.Name(), errors.Join(problems...))
}

// candidates returns the sessions that the user may mean. If magicctx does not know the session, any harness may have
// it. In this case, candidates returns one session for each harness that the user allows. These sessions have no
// anchors, because magicctx has stored no ordinals for them.
func (cmd *historyExpandCmd) candidates(ctx context.Context) (all []rawhistory.Session, err error) {
	err = cmd.browse(ctx, func(b *store.Browser) error {
		found, err := cmd.find(b, cmd.Session)
		if err != nil || found == nil {
			return err
		}
		rows, err := b.Compartments(found.Key)
		known, typedErr := wirediff.Session(b, *found, rows)
		all = append(all, known)
		return errors.Join(err, typedErr)
	})
	if err != nil && !errors.Is(err, store.ErrMissing) || len(all) > 0 {
		return all, err
	}
	stored := slices.DeleteFunc(storedSessions.Sessions(ctx), func(s rawhistory.Stored) bool { return !cmd.isWanted(store.Key{Harness: string(s.Harness)}) })
	found, err := choose(stored, cmd.Session, func(s rawhistory.Stored) (schema.Harness, string) { return s.Harness, s.ID })
	if err != nil {
		return nil, err
	}
	found = append(found, rawhistory.Stored{Session: rawhistory.Session{ID: cmd.Session}})
	for _, harness := range rawhistory.Readable {
		if cmd.Harness == "" || cmd.Harness == string(harness) {
			all = append(all, rawhistory.Session{Harness: harness, ID: found[0].ID})
		}
	}
	return all, nil
}

type expandPrinter struct {
	cmd     *historyExpandCmd
	out     io.Writer
	page    view.Page
	printed int
	err     error // the error of the output
}

// print returns false if the output fails.
func (p *expandPrinter) print(m rawhistory.Message) bool {
	if p.cmd.JSON {
		p.err = printLine(p.out, struct {
			Ordinal int        `json:"ordinal"`
			Raw     json.Value `json:"raw,omitzero"`
		}{m.Ordinal, m.Raw})
	} else {
		p.err = view.PrintMessage(p.out, rawhistory.Parts(m, rawhistory.TextOptions{Outline: p.cmd.Outline, Thinking: p.cmd.Thinking, ForPeople: true}), p.page)
	}
	p.printed++
	return p.err == nil
}

func printLine(w io.Writer, value any) error {
	content, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", format.CleanJSON(content))
	return err
}

func (f *historyFlags) browse(ctx context.Context, browse func(*store.Browser) error) error {
	dir, err := f.resolve()
	if err != nil {
		return err
	}
	err = store.Browse(ctx, dir, browse)
	if errors.Is(err, store.ErrDamaged) {
		err = fmt.Errorf("%w; see %s doctor", err, program.Name())
	}
	return err
}

// find returns the session that the user named, or nil.
func (f *historyFlags) find(b *store.Browser, wanted string) (*store.SessionName, error) {
	all, err := b.Sessions()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(s store.SessionName) bool { return !f.isWanted(s.Key) })
	found, err := choose(all, wanted, func(s store.SessionName) (schema.Harness, string) {
		return schema.Harness(s.Key.Harness), s.Key.Session
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

func (f *historyFlags) isWanted(key store.Key) bool {
	return f.Harness == "" || f.Harness == key.Harness
}

func historySessionOf(o store.HistoryOverview) view.HistorySession {
	return view.HistorySession{
		Harness: schema.Harness(o.Key.Harness), Session: o.Key.Session, Title: o.Title, Directory: o.Directory,
		Compartments: o.Compartments, Messages: o.Messages, RawTokens: o.RawTokens, Fidelity: o.Fidelity, NewestAt: o.NewestAt,
	}
}

func pageOf(s streams) view.Page {
	return view.Page{Width: widthOf(s.out), Color: terminal.WantsColor(s.out), ASCII: terminal.IsASCII(s.out), Now: time.Now(), Program: program.Name()}
}

// A messageRange is written as 12, 12-20 or 12- on the command line. The zero value means all messages.
type messageRange struct{ first, last int }

func (r *messageRange) UnmarshalText(text []byte) error {
	from, to, isRange := strings.Cut(string(text), "-")
	first, err := strconv.Atoi(from)
	last := first
	switch {
	case isRange && to == "":
		last = math.MaxInt
	case isRange && err == nil:
		last, err = strconv.Atoi(to)
	}
	if err != nil || first < 1 || last < first {
		return fmt.Errorf("%q is no range of messages: write for example 12, 12-20 or 12-", text)
	}
	*r = messageRange{first, last}
	return nil
}

func (r messageRange) isGiven() bool { return r.first > 0 }

func (r messageRange) bounds() (first, last int) {
	if !r.isGiven() {
		return 1, math.MaxInt
	}
	return r.first, r.last
}

func (r messageRange) touches(first, last int) bool {
	from, to := r.bounds()
	return first <= to && last >= from
}

func (r messageRange) String() string {
	switch {
	case r.last == math.MaxInt:
		return fmt.Sprintf("%d-", r.first)
	case r.last > r.first:
		return fmt.Sprintf("%d-%d", r.first, r.last)
	}
	return strconv.Itoa(r.first)
}
