package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/memories"
)

// workspaceCmd reads and changes the database directly. A host need not be running.
type workspaceCmd struct {
	List  workspaceListCmd  `cmd:"" default:"withargs" help:"List the workspaces."`
	Set   workspaceSetCmd   `cmd:"" help:"Create a workspace, or change what its projects share."`
	Join  workspaceJoinCmd  `cmd:"" help:"Make a project a member of a workspace."`
	Leave workspaceLeaveCmd `cmd:"" help:"Take a project out of its workspace."`
	Rm    workspaceRmCmd    `cmd:"" help:"Remove a workspace. Its projects keep their memories."`
}

type workspaceListCmd struct{ outputFlags }

func (cmd *workspaceListCmd) Run(ctx context.Context, s streams) error {
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	all := []memories.Workspace{} // not nil, so that the JSON of an empty list is []
	err = memories.View(ctx, dir, func(r *memories.Reader) error {
		found, err := r.Workspaces()
		all = append(all, found...)
		return err
	})
	switch {
	case err != nil && !errors.Is(err, store.ErrMissing):
		return err
	case cmd.JSON:
		return printJSON(s.out, struct {
			Workspaces []memories.Workspace `json:"workspaces"`
		}{all})
	case len(all) == 0:
		_, err := fmt.Fprintln(s.out, "There is no workspace: each project sees only its own memories.")
		return err
	}
	for _, w := range all {
		fmt.Fprintf(s.out, "%s shares %s\n", format.Clean(w.Name), cmp.Or(strings.Join(w.Shares, ", "), "nothing"))
		for _, m := range w.Members {
			fmt.Fprintf(s.out, "  %s (%s)\n", format.Clean(m.Name), format.Clean(m.Project))
		}
	}
	return nil
}

func (f outputFlags) change(ctx context.Context, s streams, change func(*memories.Editor) error) error {
	dir, err := f.resolve()
	if err != nil {
		return err
	}
	if err := memories.Edit(ctx, dir, time.Now().UnixMilli(), change); err != nil {
		return err
	}
	return (&workspaceListCmd{f}).Run(ctx, s)
}

type workspaceSetCmd struct {
	outputFlags
	Name  string   `arg:"" help:"Name of the workspace."`
	Share []string `help:"Categories of memories that its projects share; an empty text for none." default:"CONSTRAINTS" placeholder:"CATEGORY,..."`
}

func (cmd *workspaceSetCmd) Run(ctx context.Context, s streams) error {
	var shares []string
	for _, category := range cmd.Share {
		if category != "" {
			shares = append(shares, strings.ToUpper(category))
		}
	}
	return cmd.change(ctx, s, func(e *memories.Editor) error { return e.SetWorkspace(cmd.Name, shares) })
}

type workspaceJoinCmd struct {
	outputFlags
	Name    string `arg:"" help:"Name of the workspace."`
	Project string `help:"A directory of the project." type:"path" default:"." placeholder:"DIR"`
	As      string `help:"How the other projects know it. By default, the name of the directory."`
}

func (cmd *workspaceJoinCmd) Run(ctx context.Context, s streams) error {
	identity, err := identify(ctx, cmd.Project)
	if err != nil {
		return err
	}
	return cmd.change(ctx, s, func(e *memories.Editor) error {
		return e.Join(cmd.Name, memories.Member{Project: identity, Name: cmp.Or(cmd.As, filepath.Base(cmd.Project))})
	})
}

type workspaceLeaveCmd struct {
	outputFlags
	Project string `help:"A directory of the project." type:"path" default:"." placeholder:"DIR"`
}

func (cmd *workspaceLeaveCmd) Run(ctx context.Context, s streams) error {
	identity, err := identify(ctx, cmd.Project)
	if err != nil {
		return err
	}
	return cmd.change(ctx, s, func(e *memories.Editor) error { return e.Leave(identity) })
}

type workspaceRmCmd struct {
	outputFlags
	Name string `arg:"" help:"Name of the workspace."`
}

func (cmd *workspaceRmCmd) Run(ctx context.Context, s streams) error {
	return cmd.change(ctx, s, func(e *memories.Editor) error { return e.RemoveWorkspace(cmd.Name) })
}
