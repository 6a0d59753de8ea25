package plugindb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/file"
)

// The versions of the plugin's schema that this package reads.
const (
	Oldest = 22
	Newest = 36
)

// maxCell bounds a value of a row, in bytes.
const maxCell = 256 << 10

// Callers test for these errors with errors.Is.
var (
	// ErrForeign: the file is no database of the plugin.
	ErrForeign = errors.New("it is no database of the TypeScript plugin")
	// ErrVersion: the plugin has another schema.
	ErrVersion = errors.New("its schema is of another version")
)

// A DB is a snapshot of the database of the TypeScript plugin. It stays the same even if the plugin writes to the
// database in the meantime.
type DB struct {
	Version int
	// Tables are sorted by name. Tables for full-text search are left out.
	Tables []Table
	// Views has the names of the views. They are not read, because the query of a view could run for ever.
	Views   []string
	conn    *sqlite3.Conn
	columns map[string][]string // by table
}

type Table struct {
	Name string
	Rows int
}

// Read opens the database at path, and calls `read` with it. If the database is missing, foreign or of an unknown
// version, Read returns fs.ErrNotExist, ErrForeign or ErrVersion. Otherwise, it returns the error of the file or of
// `read`, if there is one.
func Read(ctx context.Context, path string, read func(*DB) error) error {
	err := func() error {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			if err := file.CheckFile(path + suffix); err != nil {
				return err
			}
		}
		if _, err := os.Stat(path); err != nil {
			return err
		}
		return file.ReadOnly(ctx, path, func(c *sqlite3.Conn) (err error) {
			if err := c.Exec(`PRAGMA trusted_schema = OFF; BEGIN`); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, c.Exec(`ROLLBACK`)) }()
			db := &DB{conn: c, columns: map[string][]string{}}
			if err := db.examine(); err != nil {
				return err
			}
			return read(db)
		})
	}()
	if errors.Is(err, sqlite3.NOTADB) {
		err = fmt.Errorf("%w: %w", ErrForeign, err)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, file.Classify(ctx, err))
	}
	return nil
}

// examine reads the tables, checks the version, and looks for damage.
func (db *DB) examine() error {
	var names, virtual []string
	err := file.Scan(db.conn, `SELECT name, sql LIKE 'CREATE VIRTUAL%' FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`,
		func(s *sqlite3.Stmt) {
			if names = append(names, s.ColumnText(0)); s.ColumnBool(1) {
				virtual = append(virtual, s.ColumnText(0))
			}
		})
	if err != nil {
		return err
	}
	err = file.Scan(db.conn, `SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name`, func(s *sqlite3.Stmt) { db.Views = append(db.Views, s.ColumnText(0)) })
	if err != nil {
		return err
	}
	for _, name := range names {
		if slices.ContainsFunc(virtual, func(v string) bool { return name == v || strings.HasPrefix(name, v+"_") }) {
			continue
		}
		err := file.Scan(db.conn, `SELECT name FROM pragma_table_info(?)`, func(s *sqlite3.Stmt) {
			db.columns[name] = append(db.columns[name], s.ColumnText(0))
		}, name)
		if err != nil {
			return err
		}
		db.Tables = append(db.Tables, Table{Name: name})
	}
	if !slices.Contains(db.columns["schema_migrations"], "version") {
		return fmt.Errorf("%w: it has no table schema_migrations", ErrForeign)
	}
	if err := db.number(&db.Version, `SELECT max(version) FROM schema_migrations`); err != nil {
		return err
	}
	switch {
	case db.Version < Oldest:
		return fmt.Errorf("%w: version %d, this program reads %d to %d; start the newest TypeScript plugin once, which brings it up to date", ErrVersion, db.Version, Oldest, Newest)
	case db.Version > Newest:
		return fmt.Errorf("%w: version %d, this program reads %d to %d; see whether a newer magicctx-host reads it", ErrVersion, db.Version, Oldest, Newest)
	}
	damage := ""
	err = file.Scan(db.conn, `PRAGMA quick_check(1)`, func(s *sqlite3.Stmt) { damage = s.ColumnText(0) })
	if err == nil && damage != "ok" {
		err = fmt.Errorf("it is damaged: %s", damage)
	}
	for i := range db.Tables {
		if err == nil {
			err = db.number(&db.Tables[i].Rows, `SELECT count(*) FROM `+sqlite3.QuoteIdentifier(db.Tables[i].Name))
		}
	}
	return err
}

func (db *DB) number(n *int, query string) error {
	return file.Scan(db.conn, query, func(s *sqlite3.Stmt) { *n = s.ColumnInt(0) })
}

// Each calls the function `row` with each row of a table, and stops if `row` returns an error. If the table does not
// exist, there are no rows. If the table lacks a column, its value is NULL in each row. `rest` is appended to the
// query, for example "ORDER BY id".
func (db *DB) Each(table string, columns []string, rest string, row func(*Row) error, args ...any) error {
	if db.columns[table] == nil {
		return nil
	}
	values := make([]string, len(columns))
	for i, name := range columns {
		if values[i] = "NULL"; slices.Contains(db.columns[table], name) {
			quoted := sqlite3.QuoteIdentifier(name)
			values[i] = fmt.Sprintf("CASE WHEN octet_length(%s) > %d THEN x'' ELSE %s END", quoted, maxCell, quoted)
		}
	}
	query := `SELECT ` + strings.Join(values, ", ") + ` FROM ` + sqlite3.QuoteIdentifier(table) + ` ` + rest
	var failed error
	err := file.Scan(db.conn, query, func(s *sqlite3.Stmt) {
		if failed == nil {
			failed = row(&Row{stmt: s})
		}
	}, args...)
	return errors.Join(failed, err)
}

type Row struct {
	stmt *sqlite3.Stmt
	// IsBad means that a value has an unexpected type or is too large.
	IsBad bool
}

// Text returns the text in a column, or "" for NULL.
func (r *Row) Text(column int) string {
	switch r.stmt.ColumnType(column) {
	case sqlite3.NULL:
		return ""
	case sqlite3.TEXT:
		if text := r.stmt.ColumnText(column); utf8.ValidString(text) && !strings.ContainsRune(text, 0) {
			return text
		}
	}
	r.IsBad = true
	return ""
}

// Int returns the integer in a column, or 0 for NULL.
func (r *Row) Int(column int) int64 {
	switch r.stmt.ColumnType(column) {
	case sqlite3.NULL:
		return 0
	case sqlite3.INTEGER:
		return r.stmt.ColumnInt64(column)
	}
	r.IsBad = true
	return 0
}
