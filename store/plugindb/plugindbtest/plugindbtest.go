package plugindbtest

import (
	"crypto/md5"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

//go:embed plugin.sql
var schema string

// A DB keeps its connection open like a running plugin, so new rows are in the write-ahead log.
type DB struct {
	t    testing.TB
	Path string
	conn *sqlite3.Conn
	rows int
}

func New(t testing.TB, dir string, version int) *DB {
	t.Helper()
	db := &DB{t: t, Path: filepath.Join(dir, "context.db")}
	db.must(os.MkdirAll(dir, 0o700))
	conn, err := sqlite3.Open(db.Path)
	db.must(err)
	t.Cleanup(func() { db.must(conn.Close()) })
	db.conn = conn
	db.Exec(schema)
	db.Exec(fmt.Sprintf(`INSERT INTO schema_migrations VALUES (%d, 'test', 1)`, version))
	return db
}

func (db *DB) must(err error) {
	db.t.Helper()
	if err != nil {
		db.t.Fatal(err)
	}
}

func (db *DB) Exec(sql string) {
	db.t.Helper()
	db.must(db.conn.Exec(sql))
}

// Memory inserts a memory. The argument `more` sets additional columns, for example "status = 'archived'".
func (db *DB) Memory(project, category, content, more string) {
	db.t.Helper()
	db.rows++
	db.Exec(fmt.Sprintf(`INSERT INTO memories (project_path, category, content, normalized_hash, first_seen_at, created_at, updated_at, last_seen_at)
		VALUES (%s, %s, %s, 'hash%d', 10, 11, 12, 13)`, sqlite3.Quote(project), sqlite3.Quote(category), sqlite3.Quote(content), db.rows))
	if more != "" {
		db.Exec(fmt.Sprintf(`UPDATE memories SET %s WHERE normalized_hash = 'hash%d'`, more, db.rows))
	}
}

// Empty texts are NULL.
func (db *DB) Note(kind, status, content, session, project, condition string) {
	db.t.Helper()
	db.Exec(fmt.Sprintf(`INSERT INTO notes (type, status, content, session_id, project_path, surface_condition, created_at, updated_at, anchor_ordinal)
		VALUES (%s, %s, %s, nullif(%s, ''), nullif(%s, ''), nullif(%s, ''), 21, 22, 3)`, sqlite3.Quote(kind), sqlite3.Quote(status), sqlite3.Quote(content),
		sqlite3.Quote(session), sqlite3.Quote(project), sqlite3.Quote(condition)))
}

func (db *DB) Compartment(session string, sequence int, first, last, title, p1 string, legacy int) {
	db.t.Helper()
	db.Exec(fmt.Sprintf(`INSERT INTO compartments (session_id, sequence, start_message, end_message, start_message_id, end_message_id, title, content, p1, p2, legacy, created_at)
		VALUES (%s, %d, 1, 2, %s, %s, %s, %s, %s, 'second', %d, 31)`, sqlite3.Quote(session), sequence, sqlite3.Quote(first), sqlite3.Quote(last),
		sqlite3.Quote(title), sqlite3.Quote(title+" in one text"), sqlite3.Quote(p1), legacy))
}

func (db *DB) Commit(project, sha, message string) {
	db.t.Helper()
	db.Exec(fmt.Sprintf(`INSERT INTO git_commits VALUES (%s, %s, 'short', %s, 'a@b', 41, 42)`, sqlite3.Quote(sha), sqlite3.Quote(project), sqlite3.Quote(message)))
}

func (db *DB) Sum() (sum string) {
	db.t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(db.Path + suffix)
		db.must(err)
		sum += fmt.Sprintf("%x", md5.Sum(content))
	}
	return sum
}
