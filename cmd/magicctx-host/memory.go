package main

import (
	"context"
	"fmt"
	"time"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/store/memories"
)

// memoryCmd reads and changes the database itself, so it works whether or not a host runs.
type memoryCmd struct {
	List memoryListCmd `cmd:"" default:"withargs" help:"List what magicctx remembers, by project."`
	Rm   memoryRmCmd   `cmd:"" help:"Forget memories."`
}

type memoryListCmd struct {
	dataDirFlag
	JSON bool `help:"Print JSON."`
}

// Run lists all memories.
func (cmd *memoryListCmd) Run(ctx context.Context, s streams) error {
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	all, err := memories.All(ctx, dir)
	switch {
	case err != nil:
		return err
	case cmd.JSON:
		return printJSON(s.out, struct {
			Memories []chronicle.Memory `json:"memories"`
		}{all})
	case len(all) == 0:
		_, err := fmt.Fprintln(s.out, "magicctx remembers nothing yet.")
		return err
	}
	newest := make(map[string]chronicle.Memory) // the newest memory, by project
	for _, m := range all {
		if m.SeenAt >= newest[m.Project].SeenAt {
			newest[m.Project] = m
		}
	}
	project := ""
	for _, m := range all {
		if m.Project != project {
			project = m.Project
			fmt.Fprintf(s.out, "%s (%s)\n", format.Clean(newest[project].Directory), format.Clean(project))
		}
		if _, err := fmt.Fprintf(s.out, "%6d  %s: %s\n", m.ID, format.Clean(m.Category), format.Clean(m.Content)); err != nil {
			return err
		}
	}
	return nil
}

type memoryRmCmd struct {
	dataDirFlag
	IDs []int64 `arg:"" name:"id" help:"Numbers of the memories, as memory list prints them."`
}

// Run forgets the given memories in order. If one does not exist, Run returns an error.
func (cmd *memoryRmCmd) Run(ctx context.Context, s streams) error {
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	for _, id := range cmd.IDs {
		m, err := memories.Forget(ctx, dir, id, time.Now().UnixMilli())
		if err != nil {
			return err
		}
		fmt.Fprintf(s.out, "Forgotten: %s\n", format.Clean(m.Content))
	}
	_, err = fmt.Fprintln(s.out, "New sessions do not see them. An open session loses them when its summaries are next made anew.")
	return err
}
