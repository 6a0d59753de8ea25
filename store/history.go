package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// History holds the compartments of sessions, and the runs of the historian.
type History struct{ *db }

// A HistoryRow is the state of a session's historian. If there has been no run, it is zero.
type HistoryRow struct {
	// Frontier is the first message that no run has summarised yet. A revert lowers it. A recomp that ends
	// earlier does not.
	Frontier int

	// RunningSince is the time (Unix ms) at which the current run began, or 0 if none runs.
	RunningSince int64

	// Failures counts the failed runs since the last success. LastError is the reason of the newest failure,
	// and FailedAt its time (Unix ms). The next run waits for pass number RetryPass.
	Failures  int
	LastError string
	FailedAt  int64
	RetryPass int

	// Throttle is the state of the caller's throttle, a JSON object. NoHead counts the consecutive attempts
	// that found nothing to summarise.
	Throttle string
	NoHead   int

	// PendingMarker is the compaction marker that the host should set in the harness's history. AppliedMarker
	// is the one that is set. Both hold the caller's JSON, or "".
	PendingMarker, AppliedMarker string

	// The sums over all runs. They are stored separately, because only keptRuns runs are kept. Extracted
	// counts the publications that no model has made.
	Runs, Publishes, Extracted int
	Usage                      RunUsage

	// Staged is the unfinished recomp, or nil.
	Staged *StagedRange
}

// A StagedRange says how far an unfinished recomp has come. Start and End are the range of its Staging, and
// Done is the last message with a staged compartment.
type StagedRange struct{ Start, End, Done int }

// A HistorySummary is the state of a session's historian, with the figures for a status.
type HistorySummary struct {
	HistoryRow
	Compartments int
	Extractive   int     // compartments that no model has written
	Covered      int     // the last message that the compartments cover, 0 if there are none
	RawTokens    int     // tokens of the messages that they cover
	Fidelity     float64 // mean of the compartments, weighted by their raw tokens
	// Weakest is the compartment with the lowest fidelity. It is zero if there is none.
	Weakest CompartmentScore
	// LastRun is the newest run. LastPublish is the newest run that has published. Each is nil if there is
	// none.
	LastRun, LastPublish *RunRow
}

// A CompartmentScore is the fidelity of the compartment of the messages Start to End.
type CompartmentScore struct {
	Start, End int
	Fidelity   float64
}

//go:embed query/history_select.sql
var historySelectSQL string

//go:embed query/history_counts.sql
var historyCountsSQL string

// Summary returns the state of a session's historian.
func (s *History) Summary(ctx context.Context, key Key) (sum HistorySummary, err error) {
	err = s.view(ctx, func(c *sqlite3.Conn) error {
		sum, err = summariseHistory(c, key, s.clock.Now())
		return err
	})
	if err != nil {
		return HistorySummary{}, fmt.Errorf("read history of %s: %w", key, err)
	}
	return sum, nil
}

// summariseHistory returns a summary without reading the texts of compartments.
func summariseHistory(c *sqlite3.Conn, key Key, now int64) (sum HistorySummary, err error) {
	err = scan(c, historySelectSQL, func(row *sqlite3.Stmt) { sum.HistoryRow = readHistory(row) }, key.Harness, key.Session, now)
	if err != nil {
		return sum, err
	}
	err = scan(c, historyCountsSQL, func(row *sqlite3.Stmt) {
		sum.Compartments, sum.Covered, sum.RawTokens = row.ColumnInt(0), row.ColumnInt(1), count(row, 2)
		sum.Fidelity, sum.Extractive = row.ColumnFloat(3), row.ColumnInt(4)
		sum.Weakest = CompartmentScore{Start: row.ColumnInt(6), End: row.ColumnInt(7), Fidelity: row.ColumnFloat(5)}
	}, key.Harness, key.Session)
	if err != nil {
		return sum, err
	}
	if sum.LastRun, err = lastRun(c, key, ""); err != nil {
		return sum, err
	}
	sum.LastPublish = sum.LastRun
	if sum.LastRun != nil && sum.LastRun.Status != RunSuccess {
		sum.LastPublish, err = lastRun(c, key, RunSuccess)
	}
	return sum, err
}

// lastRun returns the newest run of a session with the given status. If status is empty, any status will do.
func lastRun(c *sqlite3.Conn, key Key, status string) (*RunRow, error) {
	runs, err := readRuns(c, key, status, 1)
	if len(runs) == 0 {
		return nil, err
	}
	return &runs[0], err
}

func readHistory(s *sqlite3.Stmt) HistoryRow {
	r := HistoryRow{
		Frontier: count(s, 0), RunningSince: s.ColumnInt64(1),
		Failures: count(s, 2), LastError: s.ColumnText(3), FailedAt: s.ColumnInt64(4), RetryPass: count(s, 5),
		Throttle: s.ColumnText(6), NoHead: count(s, 7),
		PendingMarker: s.ColumnText(8), AppliedMarker: s.ColumnText(9),
		Runs: count(s, 10), Publishes: count(s, 11),
		Usage: RunUsage{
			Usage:  Usage{Input: count(s, 12), CacheRead: count(s, 13), CacheWrite: count(s, 14)},
			Output: count(s, 15),
		},
		Extracted: count(s, 16),
	}
	if s.ColumnBool(17) {
		r.Staged = &StagedRange{Start: s.ColumnInt(18), End: s.ColumnInt(19), Done: s.ColumnInt(20)}
	}
	return r
}

// ensureHistory creates the row for a session's historian. For an unknown session it does nothing, so that a
// late run cannot bring a deleted session back.
func ensureHistory(tx *transaction, key Key) error {
	_, err := tx.exec(`
		INSERT INTO histories (harness, session_id)
		SELECT harness, session_id
		FROM sessions
		WHERE harness = ?1 AND session_id = ?2
		ON CONFLICT (harness, session_id) DO NOTHING`, key.Harness, key.Session)
	return err
}

// SavePace stores the state of the throttle, and the number of consecutive attempts that found nothing to
// summarise. A publication resets that number to 0.
func (s *History) SavePace(ctx context.Context, key Key, throttle string, noHead int) error {
	err := s.update(ctx, func(tx *transaction) error {
		if err := ensureHistory(tx, key); err != nil {
			return err
		}
		_, err := tx.exec(`
			UPDATE histories
			SET throttle = ?3, no_head = ?4
			WHERE harness = ?1 AND session_id = ?2`, key.Harness, key.Session, throttle, noHead)
		return err
	})
	if err != nil {
		return fmt.Errorf("save pace of the historian of %s: %w", key, err)
	}
	return nil
}

// ClearFailures forgets the failures of a session's historian, for example because
// the user has chosen another model.
func (s *History) ClearFailures(ctx context.Context, key Key) error {
	err := s.update(ctx, func(tx *transaction) error {
		_, err := tx.exec(`
			UPDATE histories
			SET failures = 0, last_error = '', failed_at = 0, retry_pass = 0
			WHERE harness = ?1 AND session_id = ?2`, key.Harness, key.Session)
		return err
	})
	if err != nil {
		return fmt.Errorf("clear failures of the historian of %s: %w", key, err)
	}
	return nil
}
