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

// notesCmd reads and changes the database itself, so it works whether or not a host runs.
type notesCmd struct {
	List notesListCmd `cmd:"" default:"withargs" help:"List the notes that models have written for later."`
	Rm   notesRmCmd   `cmd:"" help:"Delete notes."`
}

type notesListCmd struct {
	outputFlags
	All bool `help:"Also list dismissed notes."`
}

// Run lists notes, newest first.
func (cmd *notesListCmd) Run(ctx context.Context, s streams) error {
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	notes := []chronicle.Note{}
	err = memories.View(ctx, dir, func(r *memories.Reader) error {
		all, err := r.AllNotes()
		for _, n := range all {
			if cmd.All || n.Status != chronicle.NoteIsDismissed {
				notes = append(notes, n)
			}
		}
		return err
	})
	switch {
	case err != nil && !errors.Is(err, store.ErrMissing):
		return err
	case cmd.JSON:
		return printJSON(s.out, struct {
			Notes []chronicle.Note `json:"notes"`
		}{notes})
	case len(notes) == 0:
		_, err := fmt.Fprintln(s.out, "There are no open notes.")
		return err
	}
	return view.PrintNotes(s.out, notes, time.Local)
}

type notesRmCmd struct {
	dataDirFlag
	IDs []int64 `arg:"" name:"id" help:"Numbers of the notes, as notes prints them."`
}

// Run deletes all of the notes, or none.
func (cmd *notesRmCmd) Run(ctx context.Context, s streams) error {
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	err = memories.Edit(ctx, dir, time.Now().UnixMilli(), func(e *memories.Editor) error {
		for _, id := range cmd.IDs {
			if err := e.DeleteNote(id); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		_, err = fmt.Fprintf(s.out, "Deleted: %s.\n", format.Count(len(cmd.IDs), "note"))
	}
	return err
}
