package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/project"
	"github.com/magicctx/magicctx-host/internal/view"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/memories"
)

// memoryCmd reads and changes the database directly. A host need not be running.
type memoryCmd struct {
	List    memoryListCmd    `cmd:"" default:"withargs" help:"List what magicctx remembers, by project."`
	Show    memoryShowCmd    `cmd:"" help:"Show a memory: where it comes from, and how it changed."`
	Add     memoryAddCmd     `cmd:"" help:"Remember a fact about a project."`
	Edit    memoryEditCmd    `cmd:"" help:"Change a memory."`
	Archive memoryArchiveCmd `cmd:"" help:"Keep memories, but show them to no model."`
	Restore memoryRestoreCmd `cmd:"" help:"Show archived, superseded or expired memories again."`
	Review  memoryReviewCmd  `cmd:"" help:"List what models propose (memory.review), or accept some of it."`
	Rm      memoryRmCmd      `cmd:"" help:"Delete memories."`
	Export  memoryExportCmd  `cmd:"" help:"Print memories as JSON, for memory import."`
	Import  memoryImportCmd  `cmd:"" help:"Add the memories of a file that memory export has printed."`
}

type outputFlags struct {
	dataDirFlag
	JSON bool `help:"Print JSON."`
}

// identify returns the identity of the project in a directory, or "" for an empty directory. It never guesses, because
// a wrong guess would store a memory in another project.
func identify(ctx context.Context, directory string) (string, error) {
	if directory == "" {
		return "", nil
	}
	directory, err := filepath.Abs(directory)
	if err != nil {
		return "", err
	}
	return project.Identify(ctx, directory)
}

type memoryFile struct {
	Memories []chronicle.Memory `json:"memories"`
}

type memoryListCmd struct {
	outputFlags
	Project string                 `help:"Only the project of this directory." type:"path" placeholder:"DIR"`
	User    bool                   `help:"Only what is about you, in all projects (dreamer.user_memories)."`
	Ran     *int                   `name:"run" help:"What a run of the dreamer has changed: its number, as /ctx-dream has told." placeholder:"N"`
	All     bool                   `help:"Also list proposed, archived, superseded and expired memories."`
	status  chronicle.MemoryStatus // only memories with this status; if empty, the flags decide
}

func (cmd *memoryListCmd) Validate() error {
	if cmd.Ran != nil && (cmd.User || cmd.All) {
		return errors.New("name --run alone or with --project: it lists all changes of a run")
	}
	if err := checkRun(cmd.Ran); err != nil {
		return err
	}
	if cmd.User && cmd.Project != "" {
		return errors.New("name --user or --project, not both: what is about you belongs to no project")
	}
	return nil
}

func (cmd *memoryListCmd) Run(ctx context.Context, s streams) error {
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	identity, err := identify(ctx, cmd.Project)
	if err != nil {
		return err
	}
	if cmd.User {
		identity = chronicle.UserProject
	}
	if cmd.Ran != nil {
		return cmd.listRun(ctx, s, dir)
	}
	found := memoryFile{[]chronicle.Memory{}} // not nil, so that the JSON of an empty list is []
	err = memories.View(ctx, dir, func(r *memories.Reader) error {
		all, err := r.All(identity, cmd.All || cmd.status != "", time.Now().UnixMilli())
		for _, m := range all {
			if cmd.status == "" || m.Status == cmd.status {
				found.Memories = append(found.Memories, m)
			}
		}
		return err
	})
	switch {
	case err != nil && !errors.Is(err, store.ErrMissing):
		return err
	case cmd.JSON:
		return printJSON(s.out, found)
	case len(found.Memories) == 0:
		_, err := fmt.Fprintln(s.out, cmp.Or(map[chronicle.MemoryStatus]string{chronicle.MemoryIsProposed: "No memory waits for your review."}[cmd.status], "magicctx remembers nothing yet."))
		return err
	}
	return view.PrintMemories(s.out, found.Memories)
}

// A ranChange is a change that a run of the dreamer made to a memory.
type ranChange struct {
	Before chronicle.Memory `json:"before"`
	// If After is nil, the run archived Before, and Reason says why. Otherwise, the run replaced Before with After.
	After  *chronicle.Memory `json:"after,omitzero"`
	Reason string            `json:"reason,omitzero"`
}

func (cmd *memoryListCmd) listRun(ctx context.Context, s streams, dir string) error {
	identity, err := identify(ctx, cmp.Or(cmd.Project, "."))
	if err != nil {
		return err
	}
	var found struct {
		Changes []ranChange `json:"changes"`
	}
	err = memories.View(ctx, dir, func(r *memories.Reader) error {
		ended, err := r.Ended(identity, *cmd.Ran)
		for _, ch := range ended {
			changed := ranChange{Reason: ch.Content}
			if changed.Before, err = r.Memory("", ch.Memory); errors.Is(err, memories.ErrUnknown) { // the user has removed it since
				changed.Before, err = chronicle.Memory{ID: ch.Memory, Content: "(removed)"}, nil
			}
			if err != nil {
				return err
			}
			if ch.SupersededBy != 0 {
				after, err := r.Memory("", ch.SupersededBy)
				if err != nil {
					return err
				}
				changed.After, changed.Reason = &after, ""
			}
			found.Changes = append(found.Changes, changed)
		}
		return err
	})
	switch {
	case err != nil:
		return withRemedy(err)
	case cmd.JSON:
		return printJSON(s.out, found)
	}
	for _, ch := range found.Changes {
		end := "archived: " + format.Clean(ch.Reason)
		if ch.After != nil {
			end = fmt.Sprintf("became %d: %s", ch.After.ID, format.Clean(ch.After.Content))
		}
		if _, err := fmt.Fprintf(s.out, "%d: %s\n  %s\n", ch.Before.ID, format.Clean(ch.Before.Content), end); err != nil {
			return err
		}
	}
	return nil
}

type memoryExportCmd struct {
	dataDirFlag
	Project string `help:"Only the project of this directory." type:"path" placeholder:"DIR"`
}

func (cmd *memoryExportCmd) Run(ctx context.Context, s streams) error {
	return (&memoryListCmd{outputFlags: outputFlags{cmd.dataDirFlag, true}, Project: cmd.Project, All: true}).Run(ctx, s)
}

type memoryShowCmd struct {
	outputFlags
	ID int64 `arg:"" name:"id" help:"Number of the memory."`
}

func (cmd *memoryShowCmd) Run(ctx context.Context, s streams) error {
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	var shown struct {
		Memory  chronicle.Memory         `json:"memory"`
		Changes []chronicle.MemoryChange `json:"changes"`
	}
	err = memories.View(ctx, dir, func(r *memories.Reader) (err error) {
		if shown.Memory, err = r.Memory("", cmd.ID); err == nil {
			shown.Changes, err = r.Log(cmd.ID)
		}
		return err
	})
	switch {
	case err != nil:
		return withRemedy(err)
	case cmd.JSON:
		return printJSON(s.out, shown)
	}
	return view.PrintMemory(s.out, shown.Memory, shown.Changes, time.Local)
}

type memoryFlags struct {
	Importance int    `help:"1 to 100: which memories stay if the prompt has no room for all." placeholder:"N"`
	Days       int    `help:"Show it for this many days only; 0 means forever." default:"-1" placeholder:"N"`
	Category   string `help:"PROJECT_RULES, ARCHITECTURE, CONSTRAINTS, CONFIG_VALUES or NAMING." placeholder:"C"`
	Pin        bool   `help:"Choose it before all others." negatable:""`
	Check      string `help:"What shows that it still holds, from the root of the project; none removes it." placeholder:"PATH[: TEXT]"`
}

func (f memoryFlags) apply(m *chronicle.Memory) {
	if f.Importance != 0 {
		m.Importance = f.Importance
	}
	if f.Category != "" {
		m.Category = strings.ToUpper(f.Category)
	}
	switch {
	case f.Days == 0:
		m.ExpiresAt = 0
	case f.Days > 0:
		m.ExpiresAt = time.Now().AddDate(0, 0, f.Days).UnixMilli()
	}
	m.Permanent, m.Check = m.Permanent || f.Pin, cmp.Or(f.Check, m.Check)
}

type memoryAddCmd struct {
	outputFlags
	memoryFlags
	Project string   `help:"A directory of the project." type:"path" default:"." placeholder:"DIR"`
	User    bool     `help:"The fact is about you, in all projects (dreamer.user_memories)."`
	Content []string `arg:"" help:"The fact, in one sentence."`
}

func (cmd *memoryAddCmd) Validate() error {
	if cmd.User && cmd.Category != "" {
		return errors.New("name --user or --category, not both: a memory about you has no other category")
	}
	return nil
}

func (cmd *memoryAddCmd) Run(ctx context.Context, s streams) error {
	identity, err := identify(ctx, cmd.Project)
	if err != nil {
		return err
	}
	if err := cmd.createDatabase(ctx); err != nil {
		return err
	}
	return cmd.edit(ctx, s, func(e *memories.Editor) ([]chronicle.Memory, error) {
		m := chronicle.Memory{Project: identity, Directory: cmd.Project, Category: "PROJECT_RULES", Content: strings.Join(cmd.Content, " "), Source: chronicle.FromUser}
		cmd.apply(&m)
		if cmd.User {
			m.Project, m.Directory, m.Category = chronicle.UserProject, "", chronicle.UserCategory
		}
		stored, outcome, err := e.Write(m)
		if err == nil && outcome != memories.Stored { // the memory is known, perhaps with other flags
			stored, err = e.Update("", stored.ID, cmd.apply)
		}
		return []chronicle.Memory{stored}, err
	})
}

type memoryEditCmd struct {
	outputFlags
	memoryFlags
	Unpin   bool     `help:"Choose it by its importance again."`
	ID      int64    `arg:"" name:"id" help:"Number of the memory."`
	Content []string `arg:"" optional:"" help:"The new text."`
}

func (cmd *memoryEditCmd) Run(ctx context.Context, s streams) error {
	return cmd.edit(ctx, s, func(e *memories.Editor) ([]chronicle.Memory, error) {
		m, err := e.Update("", cmd.ID, func(m *chronicle.Memory) {
			cmd.apply(m)
			m.Permanent = m.Permanent && !cmd.Unpin
			if len(cmd.Content) > 0 {
				m.Content = strings.Join(cmd.Content, " ")
			}
		})
		return []chronicle.Memory{m}, err
	})
}

type memoryIDs struct {
	outputFlags
	IDs []int64 `arg:"" name:"id" help:"Numbers of the memories, as memory list prints them."`
}

func (f memoryIDs) each(ctx context.Context, s streams, change func(e *memories.Editor, id int64) (chronicle.Memory, error)) error {
	return f.edit(ctx, s, func(e *memories.Editor) (all []chronicle.Memory, err error) {
		for _, id := range f.IDs {
			m, err := change(e, id)
			if err != nil {
				return nil, err
			}
			all = append(all, m)
		}
		return all, nil
	})
}

type memoryArchiveCmd struct {
	memoryIDs
	Reason string `help:"Why, for memory show."`
}

func (cmd *memoryArchiveCmd) Run(ctx context.Context, s streams) error {
	return cmd.each(ctx, s, func(e *memories.Editor, id int64) (chronicle.Memory, error) {
		if _, err := e.Archive("", []int64{id}, cmd.Reason); err != nil {
			return chronicle.Memory{}, err
		}
		return e.Reader().Memory("", id)
	})
}

type memoryRestoreCmd struct {
	outputFlags
	Undone  *int    `name:"run" help:"Undo a run of the dreamer: its number, as /ctx-dream has told." placeholder:"N"`
	Project string  `help:"A directory of the project of that run." type:"path" default:"." placeholder:"DIR"`
	IDs     []int64 `arg:"" optional:"" name:"id" help:"Numbers of the memories, as memory list prints them."`
}

func (cmd *memoryRestoreCmd) Validate() error {
	switch {
	case cmd.Undone == nil && len(cmd.IDs) == 0:
		return errors.New("name numbers of memories, or --run")
	case cmd.Undone != nil && len(cmd.IDs) > 0:
		return errors.New("name numbers of memories or --run, not both")
	}
	return checkRun(cmd.Undone)
}

// checkRun refuses a number that cannot be the number of a run. The runs of the dreamer are numbered from 1.
func checkRun(run *int) error {
	if run == nil || *run > 0 {
		return nil
	}
	return fmt.Errorf("--run is %d; the runs of a project count from 1, and /ctx-dream tells the number", *run)
}

func (cmd *memoryRestoreCmd) Run(ctx context.Context, s streams) error {
	if cmd.Undone == nil {
		return memoryIDs{cmd.outputFlags, cmd.IDs}.each(ctx, s, func(e *memories.Editor, id int64) (chronicle.Memory, error) { return e.Restore("", id) })
	}
	identity, err := cmd.identity(ctx)
	if err != nil {
		return err
	}
	return cmd.edit(ctx, s, func(e *memories.Editor) ([]chronicle.Memory, error) { return e.Undo(identity, *cmd.Undone) })
}

// identity returns the identity of the project in the given directory. If the directory no longer exists, identity
// looks for a memory that was stored there, because the memory still has the project's identity.
func (cmd *memoryRestoreCmd) identity(ctx context.Context) (string, error) {
	identity, gone := identify(ctx, cmd.Project)
	if !errors.Is(gone, fs.ErrNotExist) {
		return identity, gone
	}
	dir, err := cmd.resolve()
	if err != nil {
		return "", err
	}
	err = memories.View(ctx, dir, func(r *memories.Reader) error {
		all, err := r.All("", true, time.Now().UnixMilli())
		i := slices.IndexFunc(all, func(m chronicle.Memory) bool { return m.Directory == cmd.Project })
		if err != nil || i < 0 {
			return cmp.Or(err, gone)
		}
		identity = all[i].Project
		return nil
	})
	return identity, err
}

type memoryReviewCmd struct {
	outputFlags
	IDs []int64 `arg:"" optional:"" name:"id" help:"Numbers of the memories to accept. To reject others, archive them."`
}

func (cmd *memoryReviewCmd) Run(ctx context.Context, s streams) error {
	if len(cmd.IDs) == 0 {
		return (&memoryListCmd{outputFlags: cmd.outputFlags, status: chronicle.MemoryIsProposed}).Run(ctx, s)
	}
	return (&memoryRestoreCmd{outputFlags: cmd.outputFlags, IDs: cmd.IDs}).Run(ctx, s)
}

type memoryRmCmd struct{ memoryIDs }

func (cmd *memoryRmCmd) Run(ctx context.Context, s streams) error {
	err := cmd.each(ctx, s, func(e *memories.Editor, id int64) (chronicle.Memory, error) { return e.Delete("", id) })
	if err == nil && !cmd.JSON {
		_, err = fmt.Fprintln(s.out, "They are deleted for ever. Next time, memory archive hides a memory, and memory restore brings it back.")
	}
	return err
}

type memoryImportCmd struct {
	outputFlags
	Project string `help:"Add all of them to the project of this directory. Without it, each stays with its own project." type:"path" placeholder:"DIR"`
	File    string `arg:"" type:"existingfile" help:"The file, or - for stdin."`
}

const maxImport = 64 << 20

// Known memories stay as they are.
func (cmd *memoryImportCmd) Run(ctx context.Context, s streams) error {
	identity, err := identify(ctx, cmd.Project)
	if err != nil {
		return err
	}
	in := s.in
	if cmd.File != "-" {
		f, err := os.Open(cmd.File)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	content, err := io.ReadAll(io.LimitReader(in, maxImport))
	if err != nil {
		return err
	}
	var file memoryFile
	if err := json.Unmarshal(content, &file); err != nil {
		return fmt.Errorf("%s holds no memories as memory export prints them: %w", cmd.File, err)
	}
	if err := cmd.createDatabase(ctx); err != nil {
		return err
	}
	return cmd.edit(ctx, s, func(e *memories.Editor) ([]chronicle.Memory, error) { return e.Import(file.Memories, identity) })
}

func (f outputFlags) edit(ctx context.Context, s streams, change func(*memories.Editor) ([]chronicle.Memory, error)) error {
	dir, err := f.resolve()
	if err != nil {
		return err
	}
	changed := []chronicle.Memory{}
	err = memories.Edit(ctx, dir, time.Now().UnixMilli(), func(e *memories.Editor) error {
		all, err := change(e)
		changed = append(changed, all...)
		return err
	})
	switch {
	case err != nil:
		return withRemedy(err)
	case f.JSON:
		return printJSON(s.out, memoryFile{changed})
	case len(changed) == 0: // an import of memories that exist already, or a run that was undone before
		_, err := fmt.Fprintln(s.out, "Nothing has changed: all of it is known here.")
		return err
	}
	if err := view.PrintMemories(s.out, changed); err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, "New sessions follow this. An open session does when its summaries are next made anew, or after /ctx-flush.")
	return err
}

func withRemedy(err error) error {
	switch {
	case errors.Is(err, memories.ErrInactive):
		return fmt.Errorf("%w; memory restore makes it active again", err)
	case errors.Is(err, memories.ErrUnknown):
		return fmt.Errorf("%w; memory list --all shows all numbers", err)
	}
	return err
}
