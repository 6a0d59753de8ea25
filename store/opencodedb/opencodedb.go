package opencodedb

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/store/file"
)

// maxMessage is the size in bytes up to which Raw returns a message. The largest messages of OpenCode contain images,
// and are tens of megabytes long.
const maxMessage = 64 << 20

// busyTimeout bounds the wait for OpenCode's own writes. OpenCode waits equally long for the host's writes.
const busyTimeout = 5 * time.Second

// Callers test for these errors with errors.Is.
var (
	// ErrTooLarge is the error for a message of more than 64 MiB.
	ErrTooLarge = errors.New("the message has more than 64 MiB")
	// ErrBusy: another program kept the database locked. A later attempt may succeed.
	ErrBusy = errors.New("another program keeps it locked; try again in a moment")
	// ErrForeign: the file is not a database, or it lacks tables that the known versions of OpenCode have.
	ErrForeign = errors.New("it is no database of OpenCode 1.18 or 2")
)

// A DB is OpenCode's database as it was at one moment. OpenCode may write in the meantime.
type DB struct {
	conn *sqlite3.Conn
	// `prepared` maps SQL texts to prepared statements, because preparing a statement takes longer than running it.
	prepared map[string]*sqlite3.Stmt
	// For each version of OpenCode, `missing` lists the columns that the database lacks. Version 2 does not remove the
	// tables of version 1, so a database may suit both versions.
	missing map[int][]string
}

// A Row identifies one row of the table message.
type Row struct {
	ID string
	// IsSummary means that the row is the finished answer of OpenCode's compaction.
	IsSummary bool
}

// Read opens the database at path, which must exist, and passes it to the callback. OpenCode may run and write to it at
// the same time. Read fails with ErrBusy, with ErrForeign, or with the error of the callback.
func Read(ctx context.Context, path string, read func(*DB) error) error {
	err := file.ReadOnly(ctx, path, func(c *sqlite3.Conn) (err error) {
		if err := c.Exec(`BEGIN`); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Exec(`ROLLBACK`)) }()
		db := &DB{conn: c, missing: map[int][]string{}, prepared: map[string]*sqlite3.Stmt{}}
		if err := db.checkColumns(); err != nil {
			return err
		}
		defer func() {
			for _, stmt := range db.prepared {
				err = errors.Join(err, stmt.Close())
			}
		}()
		return read(db)
	})
	if err != nil {
		return fmt.Errorf("read OpenCode's database %s: %w", path, explain(ctx, err))
	}
	return nil
}

//go:embed query/missing.sql
var missingSQL string

// checkColumns fails if the database belongs to neither version of OpenCode. It belongs to a version if it has all
// columns that this package reads from that version.
func (db *DB) checkColumns() error {
	err := file.Scan(db.conn, missingSQL, func(s *sqlite3.Stmt) {
		version := s.ColumnInt(0)
		db.missing[version] = append(db.missing[version], s.ColumnText(1))
	})
	if err != nil || db.has(1) || db.has(2) {
		return err
	}
	isRelease, err := db.IsRelease()
	if isRelease {
		return db.foreign(2)
	}
	return cmp.Or(err, db.foreign(1))
}

func (db *DB) has(version int) bool { return len(db.missing[version]) == 0 }

func (db *DB) foreign(version int) error {
	return fmt.Errorf("%w: it has no %s; see whether a newer magicctx knows it", ErrForeign, strings.Join(db.missing[version], ", "))
}

// explain turns an error of SQLite into an error of this package. If ctx ended while SQLite waited for a lock, SQLite
// reports only that the database was busy or that it was interrupted. So explain adds the error of ctx.
func explain(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, sqlite3.BUSY), errors.Is(err, sqlite3.LOCKED):
		err = fmt.Errorf("%w: %w", ErrBusy, err)
	case errors.Is(err, sqlite3.NOTADB):
		err = fmt.Errorf("%w: %w", ErrForeign, err)
	}
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// HasSession reports whether the database holds a session of version 1. The betas of version 2 use the same table of
// sessions, but another table of messages. A session whose messages are only in that other table does not count.
func (db *DB) HasSession(session string) (found bool, err error) {
	if !db.has(1) {
		return false, nil
	}
	query := `SELECT 1 FROM session WHERE id = ?1`
	if db.has(2) {
		query += ` AND (EXISTS (SELECT 1 FROM message WHERE session_id = ?1) OR NOT EXISTS (SELECT 1 FROM session_message WHERE session_id = ?1))`
	}
	err = file.Scan(db.conn, query, func(*sqlite3.Stmt) { found = true }, session)
	return found, err
}

//go:embed query/messages.sql
var messagesSQL string

// Messages returns the rows of a session of version 1 in OpenCode's order, without their content.
func (db *DB) Messages(session string) (rows []Row, err error) {
	err = file.Scan(db.conn, messagesSQL, func(s *sqlite3.Stmt) {
		rows = append(rows, Row{ID: s.ColumnText(0), IsSummary: s.ColumnBool(1)})
	}, session)
	return rows, err
}

var (
	//go:embed query/size.sql
	sizeSQL string
	//go:embed query/message.sql
	messageSQL string
	//go:embed query/parts.sql
	partsSQL string
)

// Raw returns a message of version 1 as OpenCode passes it to its message hook, without parts that are not JSON
// objects. If the row of the message is not a JSON object, Raw returns nil.
func (db *DB) Raw(session, id string) (json.Value, error) {
	var size int64
	if err := db.scan(sizeSQL, id, func(s *sqlite3.Stmt) { size = s.ColumnInt64(0) }); err != nil {
		return nil, err
	}
	if size > maxMessage {
		return nil, fmt.Errorf("%s: %w", id, ErrTooLarge)
	}
	var b bytes.Buffer
	found := false
	err := db.scan(messageSQL, id, func(s *sqlite3.Stmt) {
		if data := s.ColumnRawText(0); isObject(data) {
			found = true
			b.WriteString(`{"info":`)
			b.Write(withIDs(data, "id", id, "sessionID", session))
		}
	})
	if err != nil || !found {
		return nil, err
	}
	b.WriteString(`,"parts":[`)
	parts := 0
	err = db.scan(partsSQL, id, func(s *sqlite3.Stmt) {
		part, data := s.ColumnText(0), s.ColumnRawText(1)
		if !isObject(data) {
			return
		}
		if parts++; parts > 1 {
			b.WriteByte(',')
		}
		b.Write(withIDs(data, "id", part, "sessionID", session, "messageID", id))
	})
	if err != nil {
		return nil, err
	}
	b.WriteString(`]}`)
	return b.Bytes(), nil
}

// isObject reports whether data is a JSON object. SQLite could check this in the query, but it would take several times
// as long.
func isObject(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 0 && data[0] == '{' && json.IsValid(data)
}

func (db *DB) scan(query, id string, row func(*sqlite3.Stmt)) error {
	stmt, ok := db.prepared[query]
	if !ok {
		made, _, err := db.conn.Prepare(query)
		if err != nil {
			return err
		}
		stmt, db.prepared[query] = made, made
	}
	if err := stmt.BindText(1, id); err != nil {
		return err
	}
	for stmt.Step() {
		row(stmt)
	}
	return errors.Join(stmt.Err(), stmt.Reset())
}

// withIDs adds members to a JSON object. OpenCode stores the ids of an object only in other columns of the row, so they
// are missing in the object itself. `members` alternates names and values.
func withIDs(object []byte, members ...string) []byte {
	object = bytes.TrimSpace(object)
	inner := bytes.TrimSpace(object[1 : len(object)-1])
	out := []byte{'{'}
	for i := 0; i < len(members); i += 2 {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, json.Quote(members[i])...), ':'), json.Quote(members[i+1])...)
	}
	if len(inner) > 0 {
		out = append(append(out, ','), inner...)
	}
	return append(out, '}')
}
