package store

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// Reports reads the data that people see.
type Reports struct {
	view func(context.Context, func(*sqlite3.Conn) error) error
	now  func() int64 // Unix ms
}

// A SessionReport is a session with its sums.
type SessionReport struct {
	SessionSummary
	// BustCauses counts the busts of the journal, most frequent cause first.
	BustCauses []schema.CauseCount
	// Bust is the newest bust of the journal, or nil.
	Bust *BustRow
	// Priced is the newest pass of the journal with a price, bust or not, or nil.
	Priced *schema.PricedPass
	// Head is the session's head without its texts, or nil.
	Head *HeadRow
	// FoldReasons counts the folds of the journal, most frequent reason first.
	FoldReasons []schema.CauseCount
	// History is the state of the session's historian.
	History HistorySummary
	// Recalled counts the lines about earlier messages, or is nil.
	Recalled *schema.Recalled
}

// A BustRow is a pass of the journal whose wire did not continue the previous wire. The pass itself may have been
// steady, for example if the harness has changed its system prompt. Then Resent and Removed are 0.
type BustRow struct {
	Pass int
	At   int64
	// PassCause is the cause of the pass's verdict. Cause is the reason why the provider lost the prefix. They differ,
	// for example, if the harness changed the system prompt after the pass.
	PassCause, Cause string
	Resent, Removed  int
}

//go:embed query/report_busts.sql
var reportBustsSQL string

//go:embed query/report_bust.sql
var reportBustSQL string

//go:embed query/report_priced.sql
var reportPricedSQL string

//go:embed query/report_head.sql
var reportHeadSQL string

//go:embed query/report_folds.sql
var reportFoldsSQL string

// All returns the reports for a status: the `limit` sessions with the newest passes, newest first. If `limit` is 0, it
// returns all sessions. `known` is the number of all sessions that have not expired. Long sessions do not make All
// slower.
func (s *Reports) All(ctx context.Context, limit int) (reports []SessionReport, known int, err error) {
	err = s.view(ctx, func(c *sqlite3.Conn) error {
		const isKept = `WHERE max(updated_at, last_pass_at) > ? `
		expired := s.now() - KeptSession.Milliseconds()
		err := file.Scan(c, `SELECT count(*) FROM sessions `+isKept, func(row *sqlite3.Stmt) { known = row.ColumnInt(0) }, expired)
		if err != nil {
			return err
		}
		err = file.Scan(c, sessionSelectSQL+isKept+`ORDER BY last_pass_at DESC, harness, session_id LIMIT ?`,
			func(row *sqlite3.Stmt) {
				reports = append(reports, SessionReport{SessionSummary: SessionSummary{SessionRow: readSession(row)}})
			}, expired, database.Limit(limit))
		if err != nil {
			return err
		}
		for i := range reports {
			if err := complete(c, &reports[i], s.now()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("report sessions: %w", err)
	}
	return reports, known, nil
}

// Of returns the report of one session. If the session is unknown, found is false.
func (s *Reports) Of(ctx context.Context, key Key) (r SessionReport, found bool, err error) {
	err = s.view(ctx, func(c *sqlite3.Conn) error {
		err := file.Scan(c, sessionSelectSQL+`WHERE harness = ? AND session_id = ?`,
			func(row *sqlite3.Stmt) { r.SessionRow, found = readSession(row), true },
			key.Harness, key.Session)
		if err != nil || !found {
			return err
		}
		return complete(c, &r, s.now())
	})
	if err != nil {
		return r, false, fmt.Errorf("report session %s: %w", key, err)
	}
	return r, found, nil
}

func complete(c *sqlite3.Conn, r *SessionReport, now int64) error {
	if err := summarise(c, &r.SessionSummary); err != nil {
		return err
	}
	err := file.Scan(c, reportBustsSQL, func(row *sqlite3.Stmt) {
		r.BustCauses = append(r.BustCauses, schema.CauseCount{Cause: cmp.Or(row.ColumnText(0), "unknown"), Count: row.ColumnInt(1)})
	}, r.Key.Harness, r.Key.Session)
	if err != nil {
		return err
	}
	err = file.Scan(c, reportBustSQL, func(row *sqlite3.Stmt) {
		r.Bust = &BustRow{Pass: row.ColumnInt(0), At: row.ColumnInt64(1), PassCause: row.ColumnText(2), Cause: row.ColumnText(3)}
		if row.ColumnBool(4) {
			r.Bust.Resent, r.Bust.Removed = row.ColumnInt(5), row.ColumnInt(6)
		}
	}, r.Key.Harness, r.Key.Session)
	if err != nil {
		return err
	}
	err = file.Scan(c, reportPricedSQL, func(row *sqlite3.Stmt) {
		r.Priced = &schema.PricedPass{Pass: row.ColumnInt(0), Cause: row.ColumnText(1), Bust: row.ColumnBool(2), Price: schema.BustPrice{
			Resent: row.ColumnInt(3), Removed: row.ColumnInt(4), BreakEven: row.ColumnFloat(5), Forecast: row.ColumnInt(6), Thinking: row.ColumnInt(7),
			Cost: row.ColumnInt(8), Rent: row.ColumnInt(9),
		}}
	}, r.Key.Harness, r.Key.Session)
	if err != nil {
		return err
	}
	if r.Recalled, err = readRecalled(c, r.Key); err != nil {
		return err
	}
	return completeHistory(c, r, now)
}

func completeHistory(c *sqlite3.Conn, r *SessionReport, now int64) error {
	err := file.Scan(c, reportHeadSQL, func(row *sqlite3.Stmt) {
		r.Head = &HeadRow{
			Epoch: database.Count(row, 0), ThroughOrdinal: database.Count(row, 1), BaselineSeq: row.ColumnInt(2), DeltaSeq: row.ColumnInt(3),
			BaselineTokens: database.Count(row, 4), DeltaTokens: database.Count(row, 5),
			Sections: row.ColumnText(6), FoldedPass: database.Count(row, 7), FoldedAt: row.ColumnInt64(8), FoldReason: row.ColumnText(9),
		}
	}, r.Key.Harness, r.Key.Session)
	if err != nil {
		return err
	}
	err = file.Scan(c, reportFoldsSQL, func(row *sqlite3.Stmt) {
		r.FoldReasons = append(r.FoldReasons, schema.CauseCount{Cause: cmp.Or(row.ColumnText(0), "unknown"), Count: row.ColumnInt(1)})
	}, r.Key.Harness, r.Key.Session)
	if err != nil {
		return err
	}
	r.History, err = summariseHistory(c, r.Key, now)
	return err
}
