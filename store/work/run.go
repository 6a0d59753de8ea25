package work

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// The results of a run. Noop means that there was nothing to do.
const (
	Success = "success"
	Failed  = "failed"
	Noop    = "noop"
)

// The store keeps the newest keptRuns runs of each Work. docs/retention.md states this for users.
const keptRuns = 200

type Runs struct{ db *database.DB }

func NewRuns(db *database.DB) *Runs { return &Runs{db} }

// A RunRow records one run of an agent.
type RunRow struct {
	Status    string // Success, Failed or Noop
	Reason    string // why the run began, failed, or found nothing to do
	Model     string // the model that gave the accepted answer
	Usage     Usage
	StartedAt int64 // Unix ms

	// Findings is the number of findings that the sidekick has attached to a prompt. Record stores this number with the
	// last call of the run, so that the user sees the result of the call next to its cost. Holder is the name under
	// which the run held the lease, and identifies the call.
	Findings int
	Holder   string

	// The next fields are for the historian. Kind is "incremental", "recomp", "partial" or "wrapup". Pass is the
	// session's newest pass when the run began.
	Kind string
	Pass int
	// UnconfirmedQuotes and UnconfirmedFacts count the parts of the answer that the raw messages do not confirm.
	UnconfirmedQuotes, UnconfirmedFacts int
	// Start and End are the ordinals of the first and the last message that the run summarised. If the run has succeeded,
	// the store computes them and all fields below.
	Start, End int
	MadeBy     string
	Produced   int     // number of compartments
	Fidelity   float64 // mean of the compartments, weighted by their raw tokens

	// `Run` numbers the runs of a Work, from 1. EndedAt is in Unix ms. The store sets both.
	Run     int
	EndedAt int64
}

type Usage struct {
	Input                 int // neither read from nor written to the cache
	Output                int
	CacheRead, CacheWrite int
}

//go:embed query/run_insert.sql
var runInsertSQL string

//go:embed query/run_select.sql
var runSelectSQL string

//go:embed query/run_sums.sql
var runSumsSQL string

// The runs of a Work are numbered without gaps, so the statement can compute which runs are too old. It does not have
// to count rows.
const runTrimSQL = `
	DELETE FROM agent_runs
	WHERE subject = ?1 AND agent = ?2 AND run <= (
		SELECT runs FROM agent_work WHERE subject = ?1 AND agent = ?2
	) - ?3`

// Record records a run that published nothing. If the run failed, the next run waits until the time `retry` (see
// State). Record does not bring back the work of a deleted session.
func (s *Runs) Record(ctx context.Context, w Work, run RunRow, retry int64) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error {
		if err := ensureWork(tx, w); err != nil {
			return err
		}
		now, err := s.db.Clock.Now(), error(nil)
		switch run.Status {
		case Failed:
			err = CountFailure(tx, w, run.Reason, now, retry)
		case Success:
			err = ClearFailures(tx, w)
		}
		if err == nil && run.Findings > 0 {
			err = Credit(tx, run.Holder, 0, 0, run.Findings)
		}
		if err != nil {
			return err
		}
		return InsertRun(tx, w, run, now)
	})
	if err != nil {
		return fmt.Errorf("record run of the %s: %w", w, err)
	}
	return nil
}

func InsertRun(tx *database.Tx, w Work, r RunRow, now int64) error {
	subject := w.Subject.String()
	_, err := tx.Exec(runSumsSQL, subject, w.Agent, r.Usage.Input, r.Usage.CacheRead, r.Usage.CacheWrite, r.Usage.Output)
	if err != nil {
		return fmt.Errorf("sums of runs: %w", err)
	}
	_, err = tx.Exec(runInsertSQL, subject, w.Agent, r.Status, r.Reason, r.Model,
		r.Usage.Input, r.Usage.Output, r.Usage.CacheRead, r.Usage.CacheWrite, r.StartedAt, now,
		r.Kind, r.Pass, r.Start, r.End, r.Produced, r.Fidelity, r.MadeBy, r.UnconfirmedQuotes, r.UnconfirmedFacts)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	if _, err = tx.Exec(runTrimSQL, subject, w.Agent, keptRuns); err != nil {
		return fmt.Errorf("trim runs: %w", err)
	}
	return nil
}

func (s *Runs) SaveThrottle(ctx context.Context, w Work, throttle string) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error {
		if err := ensureWork(tx, w); err != nil {
			return err
		}
		_, err := tx.Exec(`
			UPDATE agent_work
			SET throttle = ?3
			WHERE subject = ?1 AND agent = ?2`, w.Subject.String(), w.Agent, throttle)
		return err
	})
	if err != nil {
		return fmt.Errorf("save pace of the %s: %w", w, err)
	}
	return nil
}

// SaveUnfinished stores a JSON object with all that a run has done so far. InsertRun deletes the object.
func SaveUnfinished(tx *database.Tx, w Work, unfinished string) error {
	_, err := tx.Exec(`
		UPDATE agent_work
		SET unfinished = ?3
		WHERE subject = ?1 AND agent = ?2`, w.Subject.String(), w.Agent, unfinished)
	return err
}

func (s *Runs) State(ctx context.Context, w Work) (state State, err error) {
	err = s.db.View(ctx, func(c *sqlite3.Conn) error {
		state, err = Read(c, w, s.db.Clock.Now())
		return err
	})
	if err != nil {
		return State{}, fmt.Errorf("read state of the %s: %w", w, err)
	}
	return state, nil
}

// Of returns the newest runs of a Work, newest first. If `limit` is 0, it returns all runs.
func (s *Runs) Of(ctx context.Context, w Work, limit int) (runs []RunRow, err error) {
	err = s.db.View(ctx, func(c *sqlite3.Conn) (err error) {
		runs, err = ReadRuns(c, w, "", limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read runs of the %s: %w", w, err)
	}
	return runs, nil
}

// ReadRuns reads the newest runs of a Work, newest first. If `status` is "", it reads runs of any status. If `limit` is
// 0, it reads all runs.
func ReadRuns(c *sqlite3.Conn, w Work, status string, limit int) (runs []RunRow, err error) {
	err = file.Scan(c, runSelectSQL, func(s *sqlite3.Stmt) {
		runs = append(runs, RunRow{
			Run: s.ColumnInt(0), Status: s.ColumnText(1), Reason: s.ColumnText(2), Model: s.ColumnText(3),
			Usage:     Usage{Input: s.ColumnInt(4), CacheRead: s.ColumnInt(6), CacheWrite: s.ColumnInt(7), Output: s.ColumnInt(5)},
			StartedAt: s.ColumnInt64(8), EndedAt: s.ColumnInt64(9),
			Kind: s.ColumnText(10), Pass: s.ColumnInt(11), Start: s.ColumnInt(12), End: s.ColumnInt(13), Produced: s.ColumnInt(14),
			Fidelity: s.ColumnFloat(15), MadeBy: s.ColumnText(16), UnconfirmedQuotes: s.ColumnInt(17), UnconfirmedFacts: s.ColumnInt(18),
		})
	}, w.Subject.String(), w.Agent, status, database.Limit(limit))
	return runs, err
}
