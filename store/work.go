package store

import (
	_ "embed"

	"github.com/ncruces/go-sqlite3"
)

// A Subject is what an agent works on: a session, or a whole project. Exactly one of the two is set.
type Subject struct {
	Key     Key
	Project string // its identity
}

// String returns the subject as the store writes it, for example "session opencode/ses_1" or "project git:4b825dc".
func (s Subject) String() string {
	if s.Project != "" {
		return "project " + s.Project
	}
	return "session " + s.Key.String()
}

// A Work is what an agent does for a subject. Each has a lease, a pace and runs of its own.
type Work struct {
	Agent   string // for example Historian
	Subject Subject
}

func (w Work) String() string { return w.Agent + " of " + w.Subject.String() }

// Historian is the name of the agent that summarises sessions.
const Historian = "historian"

// HistorianOf returns the work of the historian for a session.
func HistorianOf(key Key) Work { return Work{Historian, Subject{Key: key}} }

// A WorkRow is the state of a work. If there has been no run, it is zero.
type WorkRow struct {
	// RunningSince is the time (Unix ms) at which the current run began, or 0 if none runs.
	RunningSince int64
	// Failures counts the failed runs since the last success. LastError is the reason of the newest failure,
	// and FailedAt its time (Unix ms). The next run waits until Retry, which is the number of a pass of the
	// session. For a project, it is a time (Unix ms).
	Failures  int
	LastError string
	FailedAt  int64
	Retry     int64
	// Throttle is the state of the caller's throttle, a JSON object.
	Throttle string
	// The sums over all runs. They are stored separately, because only keptRuns runs are kept.
	Runs  int
	Usage RunUsage
}

//go:embed query/work_select.sql
var workSelectSQL string

func readWork(c *sqlite3.Conn, w Work, now int64) (r WorkRow, err error) {
	err = scan(c, workSelectSQL, func(s *sqlite3.Stmt) {
		r = WorkRow{
			RunningSince: s.ColumnInt64(0),
			Failures:     count(s, 1), LastError: s.ColumnText(2), FailedAt: s.ColumnInt64(3), Retry: s.ColumnInt64(4),
			Throttle: s.ColumnText(5),
			Runs:     count(s, 6),
			Usage: RunUsage{
				Usage:  Usage{Input: count(s, 7), CacheRead: count(s, 8), CacheWrite: count(s, 9)},
				Output: count(s, 10),
			},
		}
	}, w.Subject.String(), w.Agent, now)
	return r, err
}

// ensureWork creates the row of a work. For an unknown session it does nothing, so that a late run cannot bring
// a deleted session back.
func ensureWork(tx *transaction, w Work) error {
	_, err := tx.exec(`
		INSERT INTO agent_work (subject, agent, harness, session_id)
		SELECT ?1, ?2, nullif(?3, ''), nullif(?4, '')
		WHERE ?4 = '' OR EXISTS (SELECT 1 FROM sessions WHERE harness = ?3 AND session_id = ?4)
		ON CONFLICT (subject, agent) DO NOTHING`,
		w.Subject.String(), w.Agent, w.Subject.Key.Harness, w.Subject.Key.Session)
	return err
}

// countFailure records that a run has failed, and when the next one may begin.
func countFailure(tx *transaction, w Work, reason string, now, retry int64) error {
	_, err := tx.exec(`
		UPDATE agent_work
		SET failures = failures + 1, last_error = ?3, failed_at = ?4, retry = ?5
		WHERE subject = ?1 AND agent = ?2`, w.Subject.String(), w.Agent, reason, now, retry)
	return err
}

// clearFailures forgets the failures after a success.
func clearFailures(tx *transaction, w Work) error {
	_, err := tx.exec(`
		UPDATE agent_work
		SET failures = 0, last_error = '', failed_at = 0, retry = 0
		WHERE subject = ?1 AND agent = ?2`, w.Subject.String(), w.Agent)
	return err
}
