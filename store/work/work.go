package work

import (
	_ "embed"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// A Subject is the session or the project on which an agent works. Either Harness and Session are set, or Project
// is set.
type Subject struct {
	Harness, Session string
	Project          string // the identity of the project
}

// String returns for example "session opencode/ses_1" or "project git:4b825dc".
func (s Subject) String() string {
	if s.Project != "" {
		return "project " + s.Project
	}
	return "session " + s.Harness + "/" + s.Session
}

// A Work names the work of one agent for one subject. The store keeps its lease, its pace and its runs.
type Work struct {
	Agent   string // for example "historian"
	Subject Subject
}

func (w Work) String() string { return w.Agent + " of " + w.Subject.String() }

// A State is what the store knows about a Work. Before the first run, it is zero.
type State struct {
	// RunningSince is when (Unix ms) the current run began, or 0.
	RunningSince int64
	// Failures counts the failed runs since the last success. LastError and FailedAt (Unix ms) describe the newest
	// failure. No run may begin before Retry. Retry is the number of a pass if the subject is a session, and a
	// time (Unix ms) if it is a project.
	Failures  int
	LastError string
	FailedAt  int64
	Retry     int64
	// Throttle is the caller's throttle, a JSON object.
	Throttle string
	// Unfinished is a JSON object that describes everything an unfinished run has done, or "". After a crash, the
	// next run continues from there.
	Unfinished string
	// Runs and Usage are totals over all runs. They are stored separately, because the store keeps only the newest
	// runs.
	Runs  int
	Usage Usage
}

//go:embed query/work_select.sql
var workSelectSQL string

func Read(c *sqlite3.Conn, w Work, now int64) (r State, err error) {
	err = file.Scan(c, workSelectSQL, func(s *sqlite3.Stmt) {
		r = State{
			RunningSince: s.ColumnInt64(0),
			Failures:     database.Count(s, 1), LastError: s.ColumnText(2), FailedAt: s.ColumnInt64(3), Retry: s.ColumnInt64(4),
			Throttle: s.ColumnText(5), Unfinished: s.ColumnText(6),
			Runs:  database.Count(s, 7),
			Usage: Usage{Input: database.Count(s, 8), CacheRead: database.Count(s, 9), CacheWrite: database.Count(s, 10), Output: database.Count(s, 11)},
		}
	}, w.Subject.String(), w.Agent, now)
	return r, err
}

// ensureWork creates the row of a work if it is missing. If the session is unknown, ensureWork does nothing, so
// that a late run cannot bring a deleted session back.
func ensureWork(tx *database.Tx, w Work) error {
	_, err := tx.Exec(`
		INSERT INTO agent_work (subject, agent, harness, session_id)
		SELECT ?1, ?2, nullif(?3, ''), nullif(?4, '')
		WHERE ?4 = '' OR EXISTS (SELECT 1 FROM sessions WHERE harness = ?3 AND session_id = ?4)
		ON CONFLICT (subject, agent) DO NOTHING`,
		w.Subject.String(), w.Agent, w.Subject.Harness, w.Subject.Session)
	return err
}

func CountFailure(tx *database.Tx, w Work, reason string, now, retry int64) error {
	_, err := tx.Exec(`
		UPDATE agent_work
		SET failures = failures + 1, last_error = ?3, failed_at = ?4, retry = ?5
		WHERE subject = ?1 AND agent = ?2`, w.Subject.String(), w.Agent, reason, now, retry)
	return err
}

func ClearFailures(tx *database.Tx, w Work) error {
	_, err := tx.Exec(`
		UPDATE agent_work
		SET failures = 0, last_error = '', failed_at = 0, retry = 0
		WHERE subject = ?1 AND agent = ?2`, w.Subject.String(), w.Agent)
	return err
}
