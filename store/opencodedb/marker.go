package opencodedb

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/store/file"
)

// Provider is the provider named in the summary of each marker. The host recognises its own markers by this name, even
// in a copy of a session.
const Provider = "magicctx"

// Placeholder is the text of a marker's summary. The text is constant, so that a marker that is set again has the same
// rows. The model reads the text only while no host is running.
const Placeholder = "The conversation up to here is summarised by magicctx, which is not running now."

// newestMigration is the newest migration of OpenCode 1.18.33.
const newestMigration = "20260622202450_simplify_session_input"

// The reasons why a marker cannot be set.
var (
	// ErrShape: the database does not have the tables of OpenCode 1.18.33.
	ErrShape = errors.New("OpenCode's database has not the shape of OpenCode 1.18.33, so no compaction markers are set; switch compaction_markers off, or use that version")
	// ErrGone: the message is gone, or all prompts up to it are gone.
	ErrGone = errors.New("the message is gone")
	// ErrCompacted: OpenCode itself has compacted the session at this place.
	ErrCompacted = errors.New("OpenCode itself has compacted the session there")
	// ErrUnanswered: no finished answer follows this place. OpenCode would treat the marker as a request to compact.
	ErrUnanswered = errors.New("no finished answer follows the place")
)

// A Marker holds the ids of the rows that make up one compaction marker. Because of the marker, OpenCode's array begins
// with the message Boundary, which is a prompt of the user.
type Marker struct {
	Boundary       string `json:"boundaryMessageId"`
	Summary        string `json:"summaryMessageId"`
	CompactionPart string `json:"compactionPartId"`
	SummaryPart    string `json:"summaryPartId"`
}

// Mark sets a session's marker at the message with the id `through`, or if this is not a prompt of the user, at the
// newest prompt before it. In the same transaction, Mark removes the session's earlier marker. docs/markers.md lists
// the rows.
func Mark(ctx context.Context, path, session, through string) (m Marker, err error) {
	err = write(ctx, path, func(c *sqlite3.Conn) (err error) {
		if err := checkShape(c); err != nil {
			return err
		}
		if _, err := unmark(c, session); err != nil {
			return err
		}
		m, err = insert(c, session, through)
		return err
	})
	if err != nil {
		return Marker{}, fmt.Errorf("set the compaction marker of session %s in %s: %w", session, path, err)
	}
	return m, nil
}

// Unmark removes the host's markers from a session, or from all sessions if session is "". It works with every version
// of OpenCode whose rows look like those of 1.18.33.
func Unmark(ctx context.Context, path, session string) (removed int, err error) {
	err = write(ctx, path, func(c *sqlite3.Conn) (err error) {
		removed, err = unmark(c, session)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("remove compaction markers from %s: %w", path, err)
	}
	return removed, nil
}

// Markers returns the host's markers in a session. The id of a missing row is "".
func (db *DB) Markers(session string) (all []Marker, err error) { return markers(db.conn, session) }

// The function `write` calls `do` in one transaction. It fails if the database does not exist.
func write(ctx context.Context, path string, do func(*sqlite3.Conn) error) (err error) {
	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	if err := c.BusyTimeout(busyTimeout); err != nil {
		return err
	}
	if err := c.Exec(`PRAGMA foreign_keys = ON; BEGIN IMMEDIATE`); err != nil {
		return err
	}
	if err := do(c); err != nil {
		return errors.Join(err, c.Exec(`ROLLBACK`))
	}
	if err := c.Exec(`COMMIT`); err != nil {
		return errors.Join(err, c.Exec(`ROLLBACK`))
	}
	return nil
}

// Each column is "name type isNotNull isPrimaryKey".
var shape = map[string]string{
	"message": "id text 0 1, session_id text 1 0, time_created integer 1 0, time_updated integer 1 0, data text 1 0",
	"part":    "id text 0 1, message_id text 1 0, session_id text 1 0, time_created integer 1 0, time_updated integer 1 0, data text 1 0",
}

func checkShape(c *sqlite3.Conn) error {
	for table, want := range shape {
		var columns []string
		err := file.Scan(c, `SELECT lower(name || ' ' || type) || ' ' || "notnull" || ' ' || pk FROM pragma_table_info(?) ORDER BY cid`,
			func(s *sqlite3.Stmt) { columns = append(columns, s.ColumnText(0)) }, table)
		if err != nil {
			return err
		}
		if got := strings.Join(columns, ", "); got != want {
			return fmt.Errorf("%w: table %s has the columns %s", ErrShape, table, got)
		}
	}
	var newest string
	triggers := 0
	if err := file.Scan(c, `SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'`, func(s *sqlite3.Stmt) { triggers = s.ColumnInt(0) }); err != nil {
		return err
	}
	err := file.Scan(c, `SELECT coalesce(max(id), '') FROM migration`, func(s *sqlite3.Stmt) { newest = s.ColumnText(0) })
	if err != nil {
		return fmt.Errorf("%w: %w", ErrShape, err)
	}
	if newest != newestMigration || triggers > 0 {
		return fmt.Errorf("%w: its newest migration is %q, and it has %d triggers", ErrShape, newest, triggers)
	}
	return nil
}

var (
	//go:embed query/marker_boundary.sql
	boundarySQL string
	//go:embed query/markers.sql
	markersSQL string
)

func insert(c *sqlite3.Conn, session, through string) (m Marker, err error) {
	var boundary, directory string
	var at int64
	found, isCompacted, isAnswered := false, false, false
	err = file.Scan(c, boundarySQL, func(s *sqlite3.Stmt) {
		found, boundary, at, directory = true, s.ColumnText(0), s.ColumnInt64(1), s.ColumnText(2)
		isCompacted, isAnswered = s.ColumnBool(3), s.ColumnBool(4)
	}, session, through)
	switch {
	case err != nil:
		return m, err
	case !found:
		return m, ErrGone
	case isCompacted:
		return m, ErrCompacted
	case !isAnswered:
		return m, ErrUnanswered
	}
	m = Marker{
		Boundary: boundary, CompactionPart: id("prt", at, 1, session, boundary),
		Summary: id("msg", at+1, 1, session, boundary), SummaryPart: id("prt", at+1, 2, session, boundary),
	}
	info, err := json.Marshal(summaryOf(boundary, directory, at+1))
	if err != nil {
		return m, err
	}
	text, err := json.Marshal(textPart{"text", Placeholder})
	if err != nil {
		return m, err
	}
	const addPart = `INSERT INTO part (id, message_id, session_id, time_created, time_updated, data) VALUES (?, ?, ?, ?, ?, ?)`
	none := func(*sqlite3.Stmt) {}
	return m, errors.Join(
		file.Scan(c, addPart, none, m.CompactionPart, boundary, session, at, at, `{"type":"compaction","auto":true}`),
		file.Scan(c, `INSERT INTO message (id, session_id, time_created, time_updated, data) VALUES (?, ?, ?, ?, ?)`, none, m.Summary, session, at+1, at+1, string(info)),
		file.Scan(c, addPart, none, m.SummaryPart, m.Summary, session, at+1, at+1, string(text)),
	)
}

type (
	textPart struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	summary struct {
		Role       string `json:"role"`
		ParentID   string `json:"parentID"`
		Summary    bool   `json:"summary"`
		Finish     string `json:"finish"`
		Mode       string `json:"mode"`
		Agent      string `json:"agent"`
		Path       place  `json:"path"`
		Cost       int    `json:"cost"`
		Tokens     usage  `json:"tokens"`
		ModelID    string `json:"modelID"`
		ProviderID string `json:"providerID"`
		Time       times  `json:"time"`
	}
	place struct {
		CWD  string `json:"cwd"`
		Root string `json:"root"`
	}
	usage struct {
		Input     int   `json:"input"`
		Output    int   `json:"output"`
		Reasoning int   `json:"reasoning"`
		Cache     cache `json:"cache"`
	}
	cache struct {
		Read  int `json:"read"`
		Write int `json:"write"`
	}
	times struct {
		Created   int64 `json:"created"`
		Completed int64 `json:"completed"`
	}
)

// summaryOf makes the marker look like a finished compaction of OpenCode.
func summaryOf(boundary, directory string, at int64) summary {
	return summary{
		Role: "assistant", ParentID: boundary, Summary: true, Finish: "stop", Mode: "compaction", Agent: "compaction",
		Path: place{directory, directory}, ModelID: Provider, ProviderID: Provider, Time: times{at, at},
	}
}

// The function `id` returns an id in OpenCode's form, for example "msg_2050c87b2001AQH5pgHAJjJmMR". The hexadecimal
// digits are the low 48 bits of ms · 4,096 + counter. The 14 letters are computed from the place of the marker, so that
// setting the same marker twice gives the same ids.
func id(prefix string, ms int64, counter int, session, boundary string) string {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256([]byte(strings.Join([]string{Provider, prefix, session, boundary}, "\x00")))
	n, base := new(big.Int).SetBytes(sum[:]), big.NewInt(int64(len(letters)))
	suffix, digit := make([]byte, 14), new(big.Int)
	for i := range suffix {
		n.DivMod(n, base, digit)
		suffix[i] = letters[digit.Int64()]
	}
	return fmt.Sprintf("%s_%012x%s", prefix, (ms*4096+int64(counter))&(1<<48-1), suffix)
}

func markers(c *sqlite3.Conn, session string) (all []Marker, err error) {
	isThere := false // a new database of OpenCode 2 does not have the table
	err = file.Scan(c, `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'message'`, func(*sqlite3.Stmt) { isThere = true })
	if err != nil || !isThere {
		return nil, err
	}
	err = file.Scan(c, markersSQL, func(s *sqlite3.Stmt) {
		all = append(all, Marker{Boundary: s.ColumnText(0), Summary: s.ColumnText(1), CompactionPart: s.ColumnText(2), SummaryPart: s.ColumnText(3)})
	}, session)
	return all, err
}

func unmark(c *sqlite3.Conn, session string) (removed int, err error) {
	all, err := markers(c, session)
	if err != nil {
		return 0, err
	}
	none := func(*sqlite3.Stmt) {}
	for _, m := range all {
		err := errors.Join(
			file.Scan(c, `DELETE FROM part WHERE message_id = ?`, none, m.Summary),
			file.Scan(c, `DELETE FROM part WHERE id = ?`, none, m.CompactionPart),
			file.Scan(c, `DELETE FROM message WHERE id = ?`, none, m.Summary),
		)
		if err != nil {
			return 0, err
		}
	}
	return len(all), nil
}
