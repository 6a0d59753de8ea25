package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// The results of a run. If a run found nothing to summarise, its result is RunNoop.
const (
	RunSuccess = "success"
	RunFailed  = "failed"
	RunNoop    = "noop"
)

// keptRuns is how many runs of a session the store keeps; docs/retention.md tells users.
const keptRuns = 200

// A RunRow records one run of the historian.
type RunRow struct {
	Kind   string // "incremental", "recomp", "partial" or "wrapup"
	Status string // RunSuccess, RunFailed or RunNoop
	Reason string // why the run failed, or found nothing to summarise
	Pass   int    // the session's newest pass when the run began
	Model  string // the model that gave the accepted answer
	Usage  RunUsage
	// DiscardedLast means that the last compartment of the answer was left to the next run, because the model
	// could not see how its topic continues.
	DiscardedLast bool
	// UnconfirmedQuotes and UnconfirmedFacts count what was left out of the model's answer, because the raw
	// messages do not confirm it.
	UnconfirmedQuotes, UnconfirmedFacts int
	StartedAt                           int64 // Unix ms

	// Start and End are the range of messages. If the run succeeded, the store computes them and all fields
	// below from the publication.
	Start, End int
	MadeBy     string
	Produced   int // number of compartments
	Facts      int

	ImportanceMin, ImportanceMax int
	ImportanceMean               float64
	Fidelity                     float64 // mean of the compartments, weighted by their raw tokens

	// Run is the number of the run in its session, from 1. EndedAt is the time at which it was recorded, in
	// Unix ms. The store sets both.
	Run     int
	EndedAt int64
}

// RunUsage is the usage of a run in tokens, summed over its requests.
type RunUsage struct {
	Usage
	Output int
}

// run returns the record of the run that made publication p.
func (p Publication) run() RunRow {
	r := p.Run
	r.Status = RunSuccess
	rows := p.Compartments
	r.Start, r.End, r.MadeBy = rows[0].Start, rows[len(rows)-1].End, string(rows[0].MadeBy)
	r.Produced, r.Facts = len(rows), len(p.Facts)
	r.ImportanceMin, r.ImportanceMax = clampImportance(rows[0].Importance), clampImportance(rows[0].Importance)
	weights := 0.0
	for _, c := range rows {
		importance, weight := clampImportance(c.Importance), float64(max(c.RawTokens, 1))
		r.ImportanceMin, r.ImportanceMax = min(r.ImportanceMin, importance), max(r.ImportanceMax, importance)
		r.ImportanceMean += float64(importance) / float64(len(rows))
		r.Fidelity += clampShare(c.Fidelity) * weight
		weights += weight
	}
	r.Fidelity /= weights
	return r
}

//go:embed query/run_insert.sql
var runInsertSQL string

//go:embed query/run_select.sql
var runSelectSQL string

//go:embed query/run_sums.sql
var runSumsSQL string

// Runs have consecutive numbers, so the statement finds the newest ones without counting rows.
const runTrimSQL = `
	DELETE FROM historian_runs
	WHERE harness = ?1 AND session_id = ?2 AND run <= (
		SELECT runs FROM histories WHERE harness = ?1 AND session_id = ?2
	) - ?3`

// RecordRun records a run that published nothing. If the run failed, RecordRun counts a failure, and the next
// run waits for pass number retryPass. If the session was deleted in the meantime, RecordRun does nothing.
func (s *History) RecordRun(ctx context.Context, key Key, run RunRow, retryPass int) error {
	err := s.update(ctx, func(tx *transaction) error {
		if run.Status == RunSuccess {
			return fmt.Errorf("its status is %q, which History.Publish records", run.Status)
		}
		isKnown, err := tx.exists(`SELECT 1 FROM sessions WHERE harness = ? AND session_id = ?`, key.Harness, key.Session)
		if err != nil || !isKnown {
			return err
		}
		if err := ensureHistory(tx, key); err != nil {
			return err
		}
		now := s.clock.Now()
		if run.Status == RunFailed {
			_, err := tx.exec(`
				UPDATE histories
				SET failures = failures + 1, last_error = ?3, failed_at = ?4, retry_pass = ?5
				WHERE harness = ?1 AND session_id = ?2`, key.Harness, key.Session, run.Reason, now, retryPass)
			if err != nil {
				return err
			}
		}
		return insertRun(tx, key, run, now)
	})
	if err != nil {
		return fmt.Errorf("record run of the historian of %s: %w", key, err)
	}
	return nil
}

func insertRun(tx *transaction, key Key, r RunRow, now int64) error {
	_, err := tx.exec(runSumsSQL, key.Harness, key.Session, r.Usage.Input, r.Usage.CacheRead, r.Usage.CacheWrite, r.Usage.Output)
	if err != nil {
		return fmt.Errorf("sums of runs: %w", err)
	}
	_, err = tx.exec(runInsertSQL, key.Harness, key.Session, r.Kind, r.Status, r.Reason, r.Pass, r.Start, r.End,
		r.Produced, r.DiscardedLast, r.Facts, r.ImportanceMin, r.ImportanceMax, r.ImportanceMean,
		r.Fidelity, r.MadeBy, r.Model, r.Usage.Input, r.Usage.Output, r.Usage.CacheRead, r.Usage.CacheWrite, r.StartedAt, now,
		r.UnconfirmedQuotes, r.UnconfirmedFacts)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	if _, err = tx.exec(runTrimSQL, key.Harness, key.Session, keptRuns); err != nil {
		return fmt.Errorf("trim runs: %w", err)
	}
	return nil
}

// Runs returns the newest runs of a session's historian, newest first. If limit is 0, it returns all stored
// runs.
func (s *History) Runs(ctx context.Context, key Key, limit int) (runs []RunRow, err error) {
	err = s.view(ctx, func(c *sqlite3.Conn) (err error) {
		runs, err = readRuns(c, key, "", limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read runs of the historian of %s: %w", key, err)
	}
	return runs, nil
}

func readRuns(c *sqlite3.Conn, key Key, status string, limit int) (runs []RunRow, err error) {
	err = scan(c, runSelectSQL, func(s *sqlite3.Stmt) {
		runs = append(runs, RunRow{
			Run: s.ColumnInt(0), Kind: s.ColumnText(1), Status: s.ColumnText(2), Reason: s.ColumnText(3), Pass: s.ColumnInt(4),
			Start: s.ColumnInt(5), End: s.ColumnInt(6), Produced: s.ColumnInt(7), DiscardedLast: s.ColumnBool(8),
			Facts: s.ColumnInt(9), ImportanceMin: s.ColumnInt(10), ImportanceMax: s.ColumnInt(11), ImportanceMean: s.ColumnFloat(12),
			Fidelity: s.ColumnFloat(13), MadeBy: s.ColumnText(14), Model: s.ColumnText(15),
			Usage: RunUsage{
				Usage:  Usage{Input: s.ColumnInt(16), CacheRead: s.ColumnInt(18), CacheWrite: s.ColumnInt(19)},
				Output: s.ColumnInt(17),
			},
			StartedAt: s.ColumnInt64(20), EndedAt: s.ColumnInt64(21),
			UnconfirmedQuotes: s.ColumnInt(22), UnconfirmedFacts: s.ColumnInt(23),
		})
	}, key.Harness, key.Session, status, noLimit(limit))
	return runs, err
}
