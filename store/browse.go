package store

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// ErrMissing says that there is no database.
var ErrMissing = file.ErrMissing

// A Browser reads the database for a command that shows it to a person. It sees the database as it was at one moment. A
// host may have the database open at the same time.
type Browser struct{ conn *sqlite3.Conn }

// Browse calls `browse` with a Browser of the database in dir. It returns the errors of file.View, and the error of
// `browse`.
func Browse(ctx context.Context, dir string, browse func(*Browser) error) error {
	return file.View(ctx, dir, func(c *sqlite3.Conn) error { return browse(&Browser{c}) })
}

// A SessionName identifies a session for people.
type SessionName struct {
	Key       Key
	Title     string // the title that the harness shows, empty if unknown
	Directory string
}

func (b *Browser) Sessions() (all []SessionName, err error) {
	err = file.Scan(b.conn, `SELECT harness, session_id, title, directory FROM sessions ORDER BY max(updated_at, last_pass_at) DESC`, func(row *sqlite3.Stmt) {
		all = append(all, readName(row))
	})
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return all, nil
}

func readName(row *sqlite3.Stmt) SessionName {
	return SessionName{Key: Key{Harness: row.ColumnText(0), Session: row.ColumnText(1)}, Title: row.ColumnText(2), Directory: row.ColumnText(3)}
}

// A HistoryOverview sums up the compartments of a session.
type HistoryOverview struct {
	SessionName
	Compartments int
	Messages     int     // the number of messages that the compartments cover
	RawTokens    int     // the tokens of these messages
	Fidelity     float64 // mean of the compartments, weighted by their raw tokens
	NewestAt     int64   // the time of the newest compartment, Unix ms
}

//go:embed query/history_list.sql
var historyListSQL string

// Histories returns the sessions that have compartments.
func (b *Browser) Histories() (all []HistoryOverview, err error) {
	err = file.Scan(b.conn, historyListSQL, func(row *sqlite3.Stmt) {
		all = append(all, HistoryOverview{
			SessionName: readName(row), Compartments: row.ColumnInt(4), Messages: row.ColumnInt(5),
			RawTokens: database.Count(row, 6), Fidelity: row.ColumnFloat(7), NewestAt: row.ColumnInt64(8),
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list histories: %w", err)
	}
	return all, nil
}

// History returns the overview of one session. If the session has no compartments, it returns an empty overview.
func (b *Browser) History(of SessionName) (HistoryOverview, error) {
	all, err := b.Histories()
	if i := slices.IndexFunc(all, func(o HistoryOverview) bool { return o.Key == of.Key }); i >= 0 {
		return all[i], err
	}
	return HistoryOverview{SessionName: of}, err
}

// Compartments returns the compartments of a session in order.
func (b *Browser) Compartments(key Key) (rows []chronicle.Compartment, err error) {
	rows, err = readCompartments(b.conn, key)
	if err != nil {
		return nil, fmt.Errorf("read compartments of %s: %w", key, err)
	}
	return rows, nil
}

// Snapshot returns the frozen state of a session. If the session is unknown, the snapshot is empty.
func (b *Browser) Snapshot(key Key) (snap Snapshot, err error) {
	snap, _, err = readSnapshot(b.conn, key)
	return snap, err
}

func (b *Browser) Reports() *Reports {
	return &Reports{
		view: func(_ context.Context, read func(*sqlite3.Conn) error) error { return read(b.conn) },
		now:  func() int64 { return time.Now().UnixMilli() },
	}
}
