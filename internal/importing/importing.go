package importing

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/project"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/plugindb"
)

// The plugin's directory is our default data directory.
func FileIn(dataDir string) string { return filepath.Join(dataDir, "context.db") }

// batchRows is the number of rows that are stored in one transaction. It is small, because a running host has to wait
// for each transaction.
var batchRows = 200

type Importer struct {
	Dir    string
	Reader rawhistory.Reader
	// Identify finds the project of a directory, see project.Identify.
	Identify func(ctx context.Context, directory string) (string, error)
	Clock    clock.Clock
	// A rehearsal stores nothing.
	IsRehearsal bool
	// Progress is called after each row, and may be nil.
	Progress func(rows, of int)
}

type Report struct {
	Database string  `json:"database"`
	Version  int     `json:"schemaVersion"`
	Tables   []Table `json:"tables"`
	// An import expects tables with certain names. Views lists the views that have one of these names. An import does
	// not read them.
	Views []string `json:"views,omitempty"`
}

// Rows is the sum of Taken and all Skipped.
type Table struct {
	Name    string `json:"table"`
	Rows    int    `json:"rows"`
	Taken   int    `json:"taken"`
	Skipped []Skip `json:"skipped,omitempty"`
}

type Skip struct {
	Rows   int    `json:"rows"`
	Reason string `json:"reason"`
}

func (r *Report) Taken() (n int) {
	for _, t := range r.Tables {
		n += t.Taken
	}
	return n
}

func (r *Report) Text() string {
	var b strings.Builder
	others := map[string][]string{} // the tables from which an import takes no rows, by reason
	for _, t := range r.Tables {
		if !taken[t.Name] && t.Rows > 0 {
			reason := reasonFor(t.Name)
			others[reason] = append(others[reason], fmt.Sprintf("%s (%d)", format.Clean(t.Name), t.Rows))
		}
		if !taken[t.Name] || t.Rows == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s: %s, %d taken\n", t.Name, format.Count(t.Rows, "row"), t.Taken)
		for _, s := range t.Skipped {
			fmt.Fprintf(&b, "  %d left out: %s\n", s.Rows, s.Reason)
		}
	}
	if len(r.Views) > 0 {
		others["magicctx reads tables and no views"] = r.Views
	}
	for _, reason := range slices.Sorted(maps.Keys(others)) {
		fmt.Fprintf(&b, "left out, because %s: %s\n", reason, strings.Join(others[reason], ", "))
	}
	return b.String()
}

// count records in the report what happened to rows of a table. If reason is "", they were taken. Otherwise, they were
// left out for this reason.
func (r *Report) count(table string, rows int, reason string) {
	t := &r.Tables[slices.IndexFunc(r.Tables, func(t Table) bool { return t.Name == table })]
	if reason == "" {
		t.Taken += rows
		return
	}
	i := slices.IndexFunc(t.Skipped, func(s Skip) bool { return s.Reason == reason })
	if i < 0 {
		i, t.Skipped = len(t.Skipped), append(t.Skipped, Skip{Reason: reason})
	}
	t.Skipped[i].Rows += rows
}

type run struct {
	*Importer
	ctx    context.Context
	db     *plugindb.DB
	report Report
	// `read` counts the rows that the import has read. `of` is the number of all rows in its tables.
	read, of int
	sessions map[string]*rawhistory.Stored
	// projects maps the plugin's projects to identities, or to "".
	projects map[string]string
	batch    []step
}

// A put is a function that stores a row. If the row is not worth storing, it returns the reason instead.
type put func(*store.Import) (reason string, err error)

func skip(reason string) put { return func(*store.Import) (string, error) { return reason, nil } }

type step struct {
	table string
	store put
}

// If ctx ends, Run reports what it has stored so far, and the next run continues from there. Run returns
// fs.ErrNotExist, or an error of plugindb.Read or store.RunImport.
func (i *Importer) Run(ctx context.Context, path string) (Report, error) {
	x := run{Importer: i, ctx: ctx, projects: map[string]string{}, report: Report{Database: path, Tables: []Table{}}}
	err := plugindb.Read(ctx, path, func(db *plugindb.DB) error {
		x.db, x.report.Version = db, db.Version
		for _, t := range db.Tables {
			x.report.Tables = append(x.report.Tables, Table{Name: t.Name, Rows: t.Rows})
			if taken[t.Name] {
				x.of += t.Rows
			}
		}
		x.report.Views = slices.DeleteFunc(db.Views, func(name string) bool { return !taken[name] })
		done, err := x.prepare()
		if err != nil {
			return err
		}
		defer done()
		if err := x.findSessions(); err != nil {
			return err
		}
		commits := func() error { return x.takeCommits(i.Dir) }
		for _, take := range [...]func() error{x.takeMemories, x.takeWorkspaces, x.takeNotes, x.takeCompartments, commits} {
			if err := take(); err != nil {
				return err
			}
			if err := x.flush(); err != nil {
				return err
			}
		}
		for _, t := range db.Tables {
			if !taken[t.Name] && t.Rows > 0 {
				x.report.count(t.Name, t.Rows, reasonFor(t.Name))
			}
		}
		return nil
	})
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return x.report, err
}

// Found returns the number of rows that an import could take. It returns 0 if there is no database of the plugin, or if
// rows have already been imported.
func (i *Importer) Found(ctx context.Context) (rows int, err error) {
	err = plugindb.Read(ctx, FileIn(i.Dir), func(db *plugindb.DB) error {
		for _, t := range db.Tables {
			if taken[t.Name] {
				rows += t.Rows
			}
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil || rows == 0 {
		return 0, err
	}
	err = store.Browse(ctx, i.Dir, func(b *store.Browser) error {
		hasImported, err := b.HasImported()
		if hasImported {
			rows = 0
		}
		return err
	})
	if errors.Is(err, store.ErrMissing) {
		err = nil
	}
	return rows, err
}

// prepare creates the host's database if it does not exist. In a rehearsal, which must not change anything, it creates
// the database in a temporary directory.
func (x *run) prepare() (done func(), err error) {
	done = func() {}
	err = memories.View(x.ctx, x.Dir, func(*memories.Reader) error { return nil })
	if !errors.Is(err, store.ErrMissing) {
		return done, err
	}
	if x.IsRehearsal {
		dir, err := os.MkdirTemp("", "magicctx-import-")
		if err != nil {
			return nil, err
		}
		copied := *x.Importer
		copied.Dir, x.Importer = dir, &copied
		done = func() { os.RemoveAll(dir) }
	}
	s, err := store.Open(x.ctx, store.Options{Dir: x.Dir, Log: slog.New(slog.DiscardHandler), Clock: x.Clock})
	if err != nil {
		done()
		return nil, err
	}
	return done, s.Close()
}

func (x *run) each(table string, columns []string, rest string, row func(*plugindb.Row) (put, error)) error {
	return x.db.Each(table, columns, rest, func(r *plugindb.Row) error {
		store, err := row(r)
		if err != nil {
			return err
		}
		if r.IsBad {
			store = skip("a value has another type than the plugin writes, or more than 256 KiB")
		}
		x.batch = append(x.batch, step{table, store})
		if err := x.tick(1); err != nil || len(x.batch) < batchRows {
			return err
		}
		return x.flush()
	})
}

func (x *run) tick(rows int) error {
	if x.read += rows; x.Progress != nil {
		x.Progress(x.read, x.of)
	}
	return context.Cause(x.ctx)
}

func (x *run) flush() error {
	all := x.batch
	x.batch = nil
	if len(all) == 0 {
		return nil
	}
	reasons := make([]string, len(all))
	err := store.RunImport(x.ctx, x.Dir, x.Clock.Now(), x.IsRehearsal, func(i *store.Import) (err error) {
		for n, s := range all {
			if reasons[n], err = s.store(i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for n, s := range all {
		x.report.count(s.table, 1, reasons[n])
	}
	return nil
}

// Very old rows name a project by its directory.
func (x *run) project(stored string) (string, error) {
	if identity, ok := x.projects[stored]; ok {
		return identity, nil
	}
	identity := stored
	if !isIdentity(stored) {
		err := x.db.Each("v22_identity_rekey_map", []string{"new_project_path"}, "WHERE old_project_path = ?", func(r *plugindb.Row) error {
			identity = r.Text(0)
			return nil
		}, stored)
		if err != nil {
			return "", err
		}
	}
	if !isIdentity(identity) && filepath.IsAbs(stored) {
		found, err := x.Identify(x.ctx, stored)
		switch {
		case err == nil:
			identity = found
		case errors.Is(err, fs.ErrNotExist): // the rows belong to the missing directory; if it comes back, its project takes them over
			identity = project.OfDirectory(stored)
		}
	}
	if !isIdentity(identity) {
		identity = ""
	}
	x.projects[stored] = identity
	return identity, nil
}

func isIdentity(text string) bool {
	return (strings.HasPrefix(text, "git:") || strings.HasPrefix(text, "dir:")) && len(text) < 100
}

const unknownProject = "its project is not known"

var taken = map[string]bool{"memories": true, "workspaces": true, "workspace_members": true, "notes": true, "compartments": true, "git_commits": true}

func reasonFor(table string) string {
	const (
		working = "only the plugin itself uses such rows"
		records = "magicctx keeps no such records"
	)
	switch {
	case strings.Contains(table, "embedding"):
		return "magicctx makes its own vectors"
	case slices.Contains([]string{"user_memories", "user_memory_candidates"}, table):
		return "magicctx makes its own profile of you (dreamer.user_memories); memory add --user adds to it"
	case slices.Contains([]string{
		"compartment_events", "dream_runs", "historian_runs", "session_facts", "session_projects", "subagent_invocations", "tool_definition_measurements",
	}, table):
		return records
	case slices.Contains([]string{
		"compartment_state_lease", "compression_depth", "dream_queue", "dream_state", "git_sweep_coordinator", "m0_mutation_log", "memory_mutation_log",
		"message_history_index", "pending_ops", "plugin_messages", "project_key_files", "project_key_files_version", "project_state",
		"recomp_compartments", "recomp_facts", "schema_migrations", "schema_migrations_meta", "session_meta", "source_contents", "tags",
		"v22_backfill_failures", "v22_identity_rekey_map",
	}, table):
		return working
	}
	return "this program does not know the table"
}
