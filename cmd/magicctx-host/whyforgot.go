package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/internal/search"
	"github.com/magicctx/magicctx-host/internal/view"
	"github.com/magicctx/magicctx-host/internal/wirediff"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/index"
)

// whyForgotCmd reads the index and the database directly. A host need not be running.
type whyForgotCmd struct {
	dataDirFlag
	Text []string `arg:"" help:"What the model has forgotten: some words of it, best as they were written."`
	JSON bool     `help:"Print JSON."`
}

// candidates is the number of hits that why-forgot looks at.
const candidates = 20

// Run explains the first message in the index that contains the user's exact words and has left the prompt. If there is
// none, it also looks at the outputs of tools that have left the prompt, because the index does not contain them. If
// nothing with these words has left the prompt, Run explains the first message that contains them, or else the best
// hit.
func (cmd *whyForgotCmd) Run(ctx context.Context, s streams) (err error) {
	defer asGrep(&err)
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	text := strings.Join(cmd.Text, " ")
	all, err := found(ctx, dir, search.Query{
		Text: text, Limit: candidates, IsLiteral: true, Only: index.Filter{Kinds: []index.Kind{index.Text, index.Command, index.Error, index.Read, index.Write}},
	})
	if err != nil {
		return err
	}
	exact := slices.DeleteFunc(slices.Clone(all), func(f view.Found) bool { return !wirediff.Contains(f.Text, text) })
	best := append(exact, all...)
	var why *view.Forgotten
	err = store.Browse(ctx, dir, func(b *store.Browser) (err error) {
		for _, f := range exact {
			if why, err = fateOf(b, f, 0); err != nil || why.IsGone() {
				return err
			}
		}
		if why, err = lostPiece(ctx, b, text); why == nil && err == nil && len(best) > 0 {
			why, err = fateOf(b, best[0], 0)
		}
		return err
	})
	switch {
	case err != nil && !errors.Is(err, store.ErrMissing):
		return err
	case why == nil && len(best) == 0:
		return nothingFound()
	case why == nil:
		why = &view.Forgotten{Found: best[0]}
	}
	if cmd.JSON {
		return printJSON(s.out, why)
	}
	return view.PrintForgotten(s.out, *why, program.Name(), pageOf(s))
}

// fateOf says what has become of a message. If tag is not 0, only this piece of the message counts.
func fateOf(b *store.Browser, f view.Found, tag int) (*view.Forgotten, error) {
	key := store.Key{Harness: f.Harness, Session: f.Session}
	fate, err := b.Fate(key, f.Message, f.Ordinal)
	if err != nil {
		return nil, err
	}
	why := &view.Forgotten{Found: f, IsKnown: fate.IsKnown, IsPinned: fate.IsPinned, Summarised: (*view.Leaving)(fate.Summarised)}
	for _, u := range fate.Removed {
		if tag == u.Tag || tag == 0 && (u.Kind == "tool") == (f.Kind != "text") {
			why.Dropped = append(why.Dropped, view.DroppedPiece{Tag: u.Tag, Kind: u.Kind, Tool: u.Tool, Edit: u.Edit, Rule: u.Rule, Leaving: view.Leaving(u.Leaving)})
		}
	}
	if fate.Summarised == nil {
		return why, nil
	}
	rows, err := b.Compartments(key)
	for _, c := range rows {
		if c.Start <= f.Ordinal && f.Ordinal <= c.End {
			why.Summary = &view.SummaryOf{Title: c.Title, Start: c.Start, End: c.End}
		}
	}
	return why, err
}

// lostPiece searches the sessions for a piece that has the words and has left the prompt. The newest session comes
// first. If the harness no longer has a session, its words are gone, too.
func lostPiece(ctx context.Context, b *store.Browser, text string) (*view.Forgotten, error) {
	sessions, err := b.Sessions()
	for _, name := range sessions {
		snap, snapErr := b.Snapshot(name.Key)
		rows, rowsErr := b.Compartments(name.Key)
		within, withinErr := wirediff.Session(b, name, rows)
		if errors.Join(snapErr, rowsErr, withinErr) != nil {
			continue // the words may be in another session
		}
		lost, err := wirediff.Find(ctx, text, snap, within, storedSessions.Read)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil || lost == nil {
			continue
		}
		m := lost.Message
		f := view.Found{
			Kind: "text", Role: string(m.Decoded.Role), Project: snap.Session.Project, Directory: name.Directory, Harness: name.Key.Harness, Session: name.Key.Session,
			Ordinal: m.Ordinal, Message: m.Decoded.Key, At: m.Decoded.Created, Score: 1, Text: lost.Excerpt(text),
		}
		if lost.Tool != "" {
			f.Kind, f.Role, f.Tool = "output", "tool", lost.Tool
		}
		return fateOf(b, f, lost.Tag)
	}
	return nil, err
}
