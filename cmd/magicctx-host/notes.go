package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/view"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/memories"
)

// notesCmd reads and changes the database directly. A host need not be running.
type notesCmd struct {
	List notesListCmd `cmd:"" default:"withargs" help:"List what models have noted for later, and what they or you have promised."`
	Done notesDoneCmd `cmd:"" help:"Close notes and promises: they are done, or no longer wanted."`
	Rm   notesRmCmd   `cmd:"" help:"Delete notes."`
}

type notesListCmd struct {
	outputFlags
	All bool `help:"Also list those that are done or dismissed."`
}

func (cmd *notesListCmd) Run(ctx context.Context, s streams) error {
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	notes := []chronicle.Note{}
	err = memories.View(ctx, dir, func(r *memories.Reader) (err error) {
		notes, err = r.AllNotes(cmd.All)
		return err
	})
	switch {
	case err != nil && !errors.Is(err, store.ErrMissing):
		return err
	case cmd.JSON:
		return printJSON(s.out, map[string][]chronicle.Note{"notes": notes})
	case len(notes) == 0:
		_, err := fmt.Fprintln(s.out, "There are no open notes.")
		return err
	}
	return view.PrintNotes(s.out, notes, time.Local)
}

type noteIDs struct {
	dataDirFlag
	IDs []int64 `arg:"" name:"id" help:"Numbers of the notes, as notes prints them."`
}

func (f noteIDs) each(ctx context.Context, s streams, done string, change func(e *memories.Editor, id int64) error) error {
	dir, err := f.resolve()
	if err != nil {
		return err
	}
	err = memories.Edit(ctx, dir, time.Now().UnixMilli(), func(e *memories.Editor) (err error) {
		for _, id := range f.IDs {
			err = errors.Join(err, change(e, id))
		}
		return err
	})
	if err != nil && len(f.IDs) > 1 {
		return fmt.Errorf("%w; none of the %d notes was changed", err, len(f.IDs))
	}
	if err == nil {
		_, err = fmt.Fprintf(s.out, "%s: %s.\n", done, format.Count(len(f.IDs), "note"))
	}
	return err
}

type notesRmCmd struct{ noteIDs }

func (cmd *notesRmCmd) Run(ctx context.Context, s streams) error {
	return cmd.each(ctx, s, "Deleted", (*memories.Editor).DeleteNote)
}

type notesDoneCmd struct {
	noteIDs
	Undo bool `help:"Open again those that are done or dismissed."`
}

func (cmd *notesDoneCmd) Run(ctx context.Context, s streams) error {
	done := map[bool]string{false: "Done", true: "Open again"}[cmd.Undo]
	return cmd.each(ctx, s, done, func(e *memories.Editor, id int64) error { return e.SetDone(id, !cmd.Undo) })
}
