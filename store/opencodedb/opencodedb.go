package opencodedb

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/store/file"
)

// maxMessage is the largest message that Raw returns, in bytes. The largest messages of
// OpenCode hold images as base64, of at most some ten megabytes.
const maxMessage = 64 << 20

// busyTimeout bounds the wait for OpenCode's own writes. OpenCode waits as long for ours.
const busyTimeout = 5 * time.Second

// ErrTooLarge is the error for a message of more than 64 MiB.
var ErrTooLarge = errors.New("the message has more than 64 MiB")

// A DB is OpenCode's database as it was at one moment, however much OpenCode writes in
// the meantime.
type DB struct{ conn *sqlite3.Conn }

// A Row names one row of the table message.
type Row struct {
	ID string
	// IsSummary says that the row is the finished answer of OpenCode's compaction.
	IsSummary bool
}

// Read calls read with the database at path, which must exist. The DB is valid until
// read returns. OpenCode may run and write meanwhile.
func Read(ctx context.Context, path string, read func(*DB) error) error {
	err := file.ReadOnly(ctx, path, func(c *sqlite3.Conn) (err error) {
		if err := c.Exec(`BEGIN`); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Exec(`ROLLBACK`)) }()
		return read(&DB{c})
	})
	if err != nil {
		return fmt.Errorf("read OpenCode's database %s: %w", path, err)
	}
	return nil
}

// HasSession reports whether the database holds a session.
func (db *DB) HasSession(session string) (found bool, err error) {
	err = file.Scan(db.conn, `SELECT 1 FROM session WHERE id = ?`, func(*sqlite3.Stmt) { found = true }, session)
	return found, err
}

//go:embed query/messages.sql
var messagesSQL string

// Messages returns the rows of a session in OpenCode's order, without their content.
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

// Raw returns a message as OpenCode hands it to its message hook. It returns nil for a
// row that is no JSON object, and leaves out such parts.
func (db *DB) Raw(session, id string) (json.Value, error) {
	var size int64
	if err := file.Scan(db.conn, sizeSQL, func(s *sqlite3.Stmt) { size = s.ColumnInt64(0) }, id); err != nil {
		return nil, err
	}
	if size > maxMessage {
		return nil, fmt.Errorf("%s: %w", id, ErrTooLarge)
	}
	var b bytes.Buffer
	found := false
	err := file.Scan(db.conn, messageSQL, func(s *sqlite3.Stmt) {
		found = true
		b.WriteString(`{"info":`)
		b.Write(withIDs(s.ColumnRawText(0), "id", id, "sessionID", session))
	}, id)
	if err != nil || !found {
		return nil, err
	}
	b.WriteString(`,"parts":[`)
	parts := 0
	err = file.Scan(db.conn, partsSQL, func(s *sqlite3.Stmt) {
		if parts++; parts > 1 {
			b.WriteByte(',')
		}
		part := s.ColumnText(0)
		b.Write(withIDs(s.ColumnRawText(1), "id", part, "sessionID", session, "messageID", id))
	}, id)
	if err != nil {
		return nil, err
	}
	b.WriteString(`]}`)
	return b.Bytes(), nil
}

// withIDs returns a JSON object with more members: names and values by turns. OpenCode
// stores its objects without their ids, which are columns.
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
