package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/internal/search"
	"github.com/magicctx/magicctx-host/internal/view"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/index"
)

// whyForgotCmd reads the index and the database directly. A host need not be running.
type whyForgotCmd struct {
	dataDirFlag
	Text []string `arg:"" help:"What the model has forgotten: some words of it, best as they were written."`
	JSON bool     `help:"Print JSON."`
}

// candidates is the number of hits that why-forgot looks at. It takes the first one that contains the user's exact
// words. If none does, it takes the best hit.
const candidates = 20

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
	if len(all) == 0 {
		return nothingFound()
	}
	f := all[max(0, slices.IndexFunc(all, func(f view.Found) bool { return strings.Contains(inOneLine(f.Text), inOneLine(text)) }))]
	why := view.Forgotten{Found: f}
	err = store.Browse(ctx, dir, func(b *store.Browser) error {
		key := store.Key{Harness: f.Harness, Session: f.Session}
		fate, err := b.Fate(key, f.Message, f.Ordinal)
		if err != nil {
			return err
		}
		why.IsKnown, why.IsPinned, why.Summarised = fate.IsKnown, fate.IsPinned, (*view.Leaving)(fate.Summarised)
		for _, u := range fate.Removed {
			if (u.Kind == "tool") == (f.Kind != "text") {
				why.Dropped = append(why.Dropped, view.DroppedPiece{Tag: u.Tag, Kind: u.Kind, Tool: u.Tool, Edit: u.Edit, Rule: u.Rule, Leaving: view.Leaving(u.Leaving)})
			}
		}
		if fate.Summarised == nil {
			return nil
		}
		rows, err := b.Compartments(key)
		for _, c := range rows {
			if c.Start <= f.Ordinal && f.Ordinal <= c.End {
				why.Summary = &view.SummaryOf{Title: c.Title, Start: c.Start, End: c.End}
			}
		}
		return err
	})
	switch {
	case err != nil && !errors.Is(err, store.ErrMissing):
		return err
	case cmd.JSON:
		return printJSON(s.out, why)
	}
	return view.PrintForgotten(s.out, why, program.Name(), pageOf(s))
}

func inOneLine(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }
