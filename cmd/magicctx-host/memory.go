package main

import (
	"context"
	"fmt"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/store"
)

// memoryCmd reads and changes the database itself, so it works whether or not a host runs.
type memoryCmd struct {
	List memoryListCmd `cmd:"" default:"withargs" help:"List what magicctx remembers, by project."`
	Rm   memoryRmCmd   `cmd:"" help:"Forget memories."`
}

// A memory is a stored memory in JSON.
type memory struct {
	ID      int64  `json:"id"`
	Project string `json:"project"`
	// Directory is that of the session that learned the memory last. seenAt says when.
	Directory string `json:"directory,omitzero"`
	seenAt    int64
	Category  string `json:"category"`
	Content   string `json:"content"`
	Source    string `json:"source"`
	Harness   string `json:"harness,omitzero"`
	Session   string `json:"session,omitzero"`
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
	all := []memory{} // in JSON, none is an empty list
	err = store.Browse(ctx, dir, func(b *store.Browser) error {
		rows, err := b.Memories()
		for _, r := range rows {
			all = append(all, memory{r.ID, r.Project, r.Directory, r.SeenAt, r.Category, r.Content, r.Source, r.LearnedIn.Harness, r.LearnedIn.Session})
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case cmd.JSON:
		return printJSON(s.out, struct {
			Memories []memory `json:"memories"`
		}{all})
	case len(all) == 0:
		_, err := fmt.Fprintln(s.out, "magicctx remembers nothing yet.")
		return err
	}
	newest := make(map[string]memory) // by project
	for _, m := range all {
		if m.seenAt >= newest[m.Project].seenAt {
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

// Run forgets memories, up to the first that does not exist.
func (cmd *memoryRmCmd) Run(ctx context.Context, s streams) error {
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	for _, id := range cmd.IDs {
		m, err := store.ForgetMemory(ctx, dir, id, time.Now().UnixMilli())
		if err != nil {
			return err
		}
		fmt.Fprintf(s.out, "Forgotten: %s\n", format.Clean(m.Content))
	}
	_, err = fmt.Fprintln(s.out, "New sessions do not see them. An open session loses them when its summaries are next made anew.")
	return err
}
