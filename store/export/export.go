package export

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// A Table holds rows of one table of the database. A value is nil, an int64, a float64 or a string.
type Table struct {
	Name    string
	Columns []string
	Rows    [][]any
}

// Each table comes after the tables that it refers to. `where` selects the rows of a session or of its project.
// unit_sums is not exported, because triggers fill it. All rows of models are exported, because the user has only a few
// models.
var exported = []struct{ name, where string }{
	{"sessions", ofSession},
	{"units", ofSession},
	{"edits", ofSession},
	{"queued_drops", ofSession},
	{"tool_replies", ofSession},
	{"nudges", ofSession},
	{"recalls", ofSession},
	{"histories", ofSession},
	{"heads", ofSession},
	{"compartments", ofSession},
	{"recomp_compartments", ofSession},
	{"withdrawn_compartments", ofSession},
	{"agent_work", ofSession},
	{"agent_runs", ofSession},
	{"thinking", ofSession},
	{"removals", ofSession},
	{"passes", ofSession + ` ORDER BY pass DESC LIMIT 1`}, // only the newest pass, because its usage may still arrive
	{sequences, `WHERE name IN ('memories', 'notes')`},    // prompts name a memory by its id, so the next memory has to get the same id as in the recording
	{"memories", ofProject + ` OR project = 'user' OR (project, category) IN (
		SELECT other.project, s.category
		FROM sessions
		JOIN workspace_members AS me USING (project)
		JOIN workspace_members AS other USING (workspace)
		JOIN workspace_shares AS s USING (workspace)
		WHERE harness = ?1 AND session_id = ?2)`},
	{"workspaces", ""},
	{"workspace_shares", ""},
	{"workspace_members", ""},
	{"memory_changes", ofProject + ` OR project = 'user'`},
	{"user_candidates", ofSession},
	{"notes", ofSession + ` OR session_id IS NULL AND project IN (SELECT project FROM sessions WHERE harness = ?1 AND session_id = ?2 AND project <> '')`},
	{"model_limits", ""},
	{"model_windows", ""},
	{"cache_lives", ""},
	{"token_ratios", ""},
}

// sequences is SQLite's own table of the largest ids that were ever given.
const sequences = "sqlite_sequence"

const (
	ofSession = `WHERE harness = ?1 AND session_id = ?2`
	ofProject = `WHERE project IN (SELECT project FROM sessions WHERE harness = ?1 AND session_id = ?2 AND project <> '')`
)

// An import leaves these columns out. Most of them describe a lease, which belongs to a run of the recorded host.
// `stopped` describes the budget of the recorded machine.
var leaseColumns = []string{"holder", "acquired_at", "expires_at", "cut", "stopped"}

// From returns all rows of the given sessions and of all models, read at one moment.
func From(ctx context.Context, s *store.Store, sessions ...store.Key) (tables []Table, err error) {
	err = s.View(ctx, func(c *sqlite3.Conn) error {
		tables = make([]Table, 0, len(exported))
		for _, from := range exported {
			t := Table{Name: from.name}
			query := `SELECT * FROM ` + from.name + ` ` + from.where
			if !strings.Contains(from.where, "?") {
				if err := t.read(c, query); err != nil {
					return err
				}
			} else {
				for _, key := range sessions {
					if err := t.read(c, query, key.Harness, key.Session); err != nil {
						return err
					}
				}
			}
			tables = append(tables, t)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	return tables, nil
}

func (t *Table) read(c *sqlite3.Conn, query string, args ...any) error {
	return file.Scan(c, query, func(row *sqlite3.Stmt) {
		if t.Columns == nil {
			for i := range row.ColumnCount() {
				t.Columns = append(t.Columns, row.ColumnName(i))
			}
		}
		values := make([]any, len(t.Columns))
		for i := range values {
			switch row.ColumnType(i) {
			case sqlite3.INTEGER:
				values[i] = row.ColumnInt64(i)
			case sqlite3.FLOAT:
				values[i] = row.ColumnFloat(i)
			case sqlite3.TEXT:
				values[i] = row.ColumnText(i)
			}
		}
		t.Rows = append(t.Rows, values)
	}, args...)
}

// Into stores exported rows in one transaction. It leaves out sessions and models that this database already has, and
// columns of a newer host. The rows may come from anybody, so the database checks them like its own.
func Into(ctx context.Context, s *store.Store, tables []Table) error {
	err := s.Update(ctx, func(tx *database.Tx) error {
		known := make(map[store.Key]bool)
		for _, to := range exported {
			for _, t := range tables {
				if t.Name != to.name {
					continue
				}
				if err := t.write(tx.Conn, strings.HasPrefix(to.where, ofSession), known); err != nil {
					return fmt.Errorf("table %s: %w", t.Name, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	return nil
}

// known collects the sessions that existed before the import.
func (t *Table) write(c *sqlite3.Conn, isOfSession bool, known map[store.Key]bool) (err error) {
	if len(t.Rows) == 0 {
		return nil
	}
	taken, err := t.taken(c)
	if err != nil {
		return err
	}
	if t.Name == sequences { // the table has no key, so a second import would add a second row
		if err := c.Exec(`DELETE FROM sqlite_sequence WHERE name = 'memories'`); err != nil {
			return err
		}
	}
	harness, session := slices.Index(t.Columns, "harness"), slices.Index(t.Columns, "session_id")
	if isOfSession && (harness < 0 || session < 0) || len(taken) == 0 {
		return fmt.Errorf("columns %q are not those of the table", t.Columns)
	}
	names := make([]string, len(taken))
	for i, column := range taken {
		names[i] = t.Columns[column]
	}
	insert, _, err := c.Prepare(`
		INSERT INTO ` + t.Name + ` (` + strings.Join(names, ", ") + `)
		VALUES (?` + strings.Repeat(", ?", len(names)-1) + `)
		ON CONFLICT DO NOTHING`)
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, row := range t.Rows {
		if len(row) != len(t.Columns) {
			return fmt.Errorf("a row of %d values for %d columns", len(row), len(t.Columns))
		}
		var key store.Key
		if isOfSession {
			key.Harness, _ = row[harness].(string)
			key.Session, _ = row[session].(string)
		}
		if known[key] {
			continue
		}
		for i, column := range taken {
			if err := bindAny(insert, i+1, row[column]); err != nil {
				return err
			}
		}
		if err := insert.Exec(); err != nil {
			return err
		}
		if t.Name == "sessions" && c.Changes() == 0 {
			known[key] = true
		}
	}
	return nil
}

func (t *Table) taken(c *sqlite3.Conn) (taken []int, err error) {
	has := make(map[string]bool)
	err = file.Scan(c, `SELECT name FROM pragma_table_info(?)`, func(row *sqlite3.Stmt) { has[row.ColumnText(0)] = true }, t.Name)
	for i, name := range t.Columns {
		if has[name] && !(t.Name == "agent_work" && slices.Contains(leaseColumns, name)) {
			taken = append(taken, i)
			delete(has, name) // no column twice
		}
	}
	return taken, err
}

func bindAny(stmt *sqlite3.Stmt, param int, value any) error {
	if value == nil {
		return stmt.BindNull(param)
	}
	return file.Bind(stmt, param, value)
}
