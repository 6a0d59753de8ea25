package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
	"github.com/magicctx/magicctx-host/store/work"
)

type History struct{ db *database.DB }

func HistorianOf(key Key) work.Work {
	return work.Work{Agent: work.Historian, Subject: work.Subject{Harness: key.Harness, Session: key.Session}}
}

// A HistoryRow is the state of a session's historian. Before the first run, it is the zero HistoryRow.
type HistoryRow struct {
	work.State

	// PendingMarker is the compaction marker that the host must still set in the harness's history. AppliedMarker is
	// the marker that is set. Both hold the caller's JSON, or "".
	PendingMarker, AppliedMarker string

	// Publishes counts all publications. Extracted counts only the extracts, which no model has written.
	Publishes, Extracted int

	// Staged is the unfinished recomp, or nil.
	Staged *StagedRange
}

// A StagedRange says how far an unfinished recomp has come. Start and End are its range, and Done is the last message
// with a staged compartment.
type StagedRange struct{ Start, End, Done int }

// A HistorySummary is the state of a session's historian, with the figures for a status.
type HistorySummary struct {
	HistoryRow
	Compartments int
	Extractive   int     // compartments that no model has written
	Covered      int     // the last message that the compartments cover, 0 if there are none
	RawTokens    int     // tokens of the messages that they cover
	Fidelity     float64 // mean of the compartments, weighted by their raw tokens
	// Weakest is the compartment with the lowest fidelity, or zero.
	Weakest schema.CompartmentScore
	// LastRun is the newest run, and LastPublish the newest run that has published. Each may be nil.
	LastRun, LastPublish *work.RunRow
}

//go:embed query/history_select.sql
var historySelectSQL string

//go:embed query/history_counts.sql
var historyCountsSQL string

func (s *History) Summary(ctx context.Context, key Key) (sum HistorySummary, err error) {
	err = s.db.View(ctx, func(c *sqlite3.Conn) error {
		sum, err = summariseHistory(c, key, s.db.Clock.Now())
		return err
	})
	if err != nil {
		return HistorySummary{}, fmt.Errorf("read history of %s: %w", key, err)
	}
	return sum, nil
}

// summariseHistory does not read the texts of compartments.
func summariseHistory(c *sqlite3.Conn, key Key, now int64) (sum HistorySummary, err error) {
	err = file.Scan(c, historySelectSQL, func(row *sqlite3.Stmt) { sum.HistoryRow = readHistory(row) }, key.Harness, key.Session)
	if err != nil {
		return sum, err
	}
	if sum.State, err = work.Read(c, HistorianOf(key), now); err != nil {
		return sum, err
	}
	err = file.Scan(c, historyCountsSQL, func(row *sqlite3.Stmt) {
		sum.Compartments, sum.Covered, sum.RawTokens = row.ColumnInt(0), row.ColumnInt(1), database.Count(row, 2)
		sum.Fidelity, sum.Extractive = row.ColumnFloat(3), row.ColumnInt(4)
		sum.Weakest = schema.CompartmentScore{Start: row.ColumnInt(6), End: row.ColumnInt(7), Fidelity: row.ColumnFloat(5)}
	}, key.Harness, key.Session)
	if err != nil {
		return sum, err
	}
	if sum.LastRun, err = lastRun(c, key, ""); err != nil {
		return sum, err
	}
	sum.LastPublish = sum.LastRun
	if sum.LastRun != nil && sum.LastRun.Status != work.Success {
		sum.LastPublish, err = lastRun(c, key, work.Success)
	}
	return sum, err
}

func lastRun(c *sqlite3.Conn, key Key, status string) (*work.RunRow, error) {
	runs, err := work.ReadRuns(c, HistorianOf(key), status, 1)
	if len(runs) == 0 {
		return nil, err
	}
	return &runs[0], err
}

func readHistory(s *sqlite3.Stmt) HistoryRow {
	r := HistoryRow{
		PendingMarker: s.ColumnText(0), AppliedMarker: s.ColumnText(1),
		Publishes: database.Count(s, 2), Extracted: database.Count(s, 3),
	}
	if s.ColumnBool(4) {
		r.Staged = &StagedRange{Start: s.ColumnInt(5), End: s.ColumnInt(6), Done: s.ColumnInt(7)}
	}
	return r
}

// ensureHistory creates the row of a session's historian if it is missing. If the session is unknown, ensureHistory
// does nothing, so that a late run cannot bring a deleted session back.
func ensureHistory(tx *database.Tx, key Key) error {
	_, err := tx.Exec(`
		INSERT INTO histories (harness, session_id)
		SELECT harness, session_id
		FROM sessions
		WHERE harness = ?1 AND session_id = ?2
		ON CONFLICT (harness, session_id) DO NOTHING`, key.Harness, key.Session)
	return err
}
