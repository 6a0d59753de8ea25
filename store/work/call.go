package work

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// Calls stores each question that an agent has asked a model. A call stays after its session and its run are deleted,
// because the money that it cost still counts.
type Calls struct{ db *database.DB }

func NewCalls(db *database.DB) *Calls { return &Calls{db} }

//go:embed query/call_insert.sql
var callInsertSQL string

//go:embed query/call_sums.sql
var callSumsSQL string

// The names of agents. In a Cap, Others means all agents but the historian.
const (
	Historian = "historian"
	Dreamer   = "dreamer"
	Sidekick  = "sidekick"
	Others    = "others"
)

// A Cap limits the cost of the calls that a project has made since a certain time. Money is in billionths of a dollar.
type Cap struct {
	Agents        string // whose calls count: Historian, Others, or "" for all agents
	Money, Tokens int64
	Since         int64 // Unix ms
}

// A Spent is the cost of some calls, as a budget counts it.
type Spent struct{ Money, Tokens int64 }

func (s Spent) Dollars() float64 { return float64(s.Money) / chronicle.Dollar }

// OverBudget is the error for a call that could exceed a cap. Spent is the cost so far of the calls to which the cap
// applies. Needs is the highest possible cost of the new call.
type OverBudget struct {
	Cap          Cap
	Spent, Needs Spent
}

func (e *OverBudget) Error() string { return "the budget is used up" }

// Reserve books the highest possible cost of a call that is about to begin, and returns its number. If the call could
// exceed a cap, the error is an *OverBudget, and nothing is booked. If the run has lost its lease, the error is
// ErrLeaseLost. Reserve sets the time and the project of c.
func (s *Calls) Reserve(ctx context.Context, w Work, holder string, c chronicle.Call, needs Spent, caps []Cap) (id int64, err error) {
	err = s.db.Update(ctx, func(tx *database.Tx) error {
		now := s.db.Clock.Now()
		if err := CheckLease(tx, w, holder, 0, now); err != nil {
			return err
		}
		project, err := projectOf(tx.Scan, w.Subject)
		if err != nil {
			return err
		}
		for _, of := range caps {
			over := &OverBudget{Cap: of, Needs: needs}
			err := tx.Scan(callSumsSQL, func(row *sqlite3.Stmt) { over.Spent = Spent{row.ColumnInt64(0), row.ColumnInt64(1)} }, project, of.Agents, of.Since)
			if err != nil {
				return err
			}
			if of.Money <= 0 || of.Tokens <= 0 || over.Spent.Money+needs.Money > of.Money || over.Spent.Tokens+needs.Tokens > of.Tokens {
				return over
			}
		}
		_, err = tx.Exec(callInsertSQL, now, project, c.Directory, w.Agent, w.Subject.Harness, w.Subject.Session, holder, c.Model, needs.Money, needs.Tokens)
		if err != nil {
			return err
		}
		id = tx.Conn.LastInsertRowID()
		return setStopped(tx, w, "")
	})
	if err != nil {
		return 0, fmt.Errorf("reserve call of the %s: %w", w, err)
	}
	return id, nil
}

// SetStopped stores the reason why the budget has refused a call of w, as a JSON object. When a later call of w is
// reserved, the reason is removed.
func (s *Calls) SetStopped(ctx context.Context, w Work, stop string) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error { return setStopped(tx, w, stop) })
	if err != nil {
		return fmt.Errorf("store that the budget stops the %s: %w", w, err)
	}
	return nil
}

func setStopped(tx *database.Tx, w Work, stop string) error {
	_, err := tx.Exec(`UPDATE agent_work SET stopped = ?3 WHERE subject = ?1 AND agent = ?2 AND stopped <> ?3`, w.Subject.String(), w.Agent, stop)
	return err
}

// Stopped returns the reasons that SetStopped has stored, by Work.String.
func (s *Calls) Stopped(ctx context.Context) (stops map[string]string, err error) {
	stops = map[string]string{}
	err = s.db.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, `SELECT agent || ' of ' || subject, stopped FROM agent_work WHERE stopped <> ''`, func(row *sqlite3.Stmt) { stops[row.ColumnText(0)] = row.ColumnText(1) })
	})
	if err != nil {
		return nil, fmt.Errorf("read what the budget stops: %w", err)
	}
	return stops, nil
}

// Settle replaces the reserved cost of a call by its real cost. `counted` is the cost as budgets count it. If `counted`
// has no tokens, no model has read the question, so Settle deletes the call. If the exact cost is unknown, c.Reserved
// is its upper bound. A call that is never settled, for example because the host crashed, keeps its reserved cost.
func (s *Calls) Settle(ctx context.Context, id int64, c chronicle.Call, counted Spent) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error {
		if counted.Tokens == 0 {
			_, err := tx.Exec(`DELETE FROM agent_calls WHERE id = ?`, id)
			return err
		}
		cost := any(nil)
		if c.Cost != nil {
			cost = *c.Cost
		}
		_, err := tx.Exec(`
			UPDATE agent_calls
			SET model = ?2, input_tokens = ?3, output_tokens = ?4, cache_read = ?5, cache_write = ?6, cost = ?7,
				counted = ?8, counted_tokens = ?9, is_open = ?10
			WHERE id = ?1`, id, c.Model, c.Input, c.Output, c.CacheRead, c.CacheWrite, cost, counted.Money, counted.Tokens, c.Reserved > 0)
		return err
	})
	if err != nil {
		return fmt.Errorf("settle call %d: %w", id, err)
	}
	return nil
}

func projectOf(scan func(string, func(*sqlite3.Stmt), ...any) error, s Subject) (project string, err error) {
	if s.Project != "" {
		return s.Project, nil
	}
	err = scan(`SELECT project FROM sessions WHERE harness = ? AND session_id = ?`,
		func(row *sqlite3.Stmt) { project = row.ColumnText(0) }, s.Harness, s.Session)
	return project, err
}

// A PromptSum is the size of a project's prompts to one model, in tokens.
type PromptSum struct {
	Provider, Model              string
	Input, CacheRead, CacheWrite int
}

//go:embed query/prompt_sums.sql
var promptSumsSQL string

// Prompts sums up the prompts of a subject's project since a time (Unix ms), by model. It leaves out answers, because
// the journal lacks their sizes.
func (s *Calls) Prompts(ctx context.Context, of Subject, since int64) (sums []PromptSum, err error) {
	err = s.db.View(ctx, func(c *sqlite3.Conn) error {
		scan := func(query string, row func(*sqlite3.Stmt), args ...any) error {
			return file.Scan(c, query, row, args...)
		}
		project, err := projectOf(scan, of)
		if err != nil || project == "" {
			return err
		}
		return scan(promptSumsSQL, func(row *sqlite3.Stmt) {
			sums = append(sums, PromptSum{row.ColumnText(0), row.ColumnText(1), row.ColumnInt(2), row.ColumnInt(3), row.ColumnInt(4)})
		}, project, since)
	})
	if err != nil {
		return nil, fmt.Errorf("read prompts of %s: %w", of, err)
	}
	return sums, nil
}

// Cost returns the cost of an agent's calls for a session, in billionths of a dollar. Failed calls count, too. A call
// without a known price, or one that has not ended, counts as 0.
func (s *Calls) Cost(ctx context.Context, w Work) (sum int64, err error) {
	err = s.db.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, `SELECT coalesce(sum(cost), 0) FROM agent_calls WHERE harness = ? AND session = ? AND agent = ?`,
			func(row *sqlite3.Stmt) { sum = row.ColumnInt64(0) }, w.Subject.Harness, w.Subject.Session, w.Agent)
	})
	if err != nil {
		return 0, fmt.Errorf("read cost of the %s: %w", w, err)
	}
	return sum, nil
}

// Forget deletes the calls before a given time (Unix ms). The calls of a stored session stay, because they are part of
// its bill.
func (s *Calls) Forget(ctx context.Context, before int64) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error {
		_, err := tx.Exec(`
			DELETE FROM agent_calls AS c
			WHERE at < ? AND NOT EXISTS (SELECT 1 FROM sessions AS s WHERE s.harness = c.harness AND s.session_id = c.session)`, before)
		return err
	})
	if err != nil {
		return fmt.Errorf("forget calls of agents: %w", err)
	}
	return nil
}

// Credit adds published compartments, memories and findings to the last call of a run, if there is one.
func Credit(tx *database.Tx, holder string, compartments, memories, findings int) error {
	_, err := tx.Exec(`
		UPDATE agent_calls
		SET compartments = compartments + ?2, memories = memories + ?3, findings = findings + ?4
		WHERE id = (SELECT id FROM agent_calls WHERE holder = ?1 ORDER BY id DESC LIMIT 1)`, holder, compartments, memories, findings)
	if err != nil {
		return fmt.Errorf("credit the run %s: %w", holder, err)
	}
	return nil
}

//go:embed query/report_select.sql
var reportSelectSQL string

// costAt returns the cost in a column, or nil if the column is NULL.
func costAt(row *sqlite3.Stmt, column int) *int64 {
	if row.ColumnType(column) == sqlite3.NULL {
		return nil
	}
	cost := row.ColumnInt64(column)
	return &cost
}

// View reads the database in `dir`, which a host may have open. It returns the calls since a given time (Unix ms),
// oldest first, and the runs of the dreamer, newest first. See file.View for the errors.
func View(ctx context.Context, dir string, since int64) (all []chronicle.Call, runs []chronicle.Report, err error) {
	err = file.View(ctx, dir, func(c *sqlite3.Conn) error {
		err := file.Scan(c, reportSelectSQL, func(row *sqlite3.Stmt) {
			runs = append(runs, chronicle.Report{At: row.ColumnInt64(0), Text: row.ColumnText(1), Cost: costAt(row, 2)})
		}, Dreamer, since)
		if err != nil {
			return err
		}
		return file.Scan(c, `
			SELECT at, project, directory, agent, model, input_tokens, output_tokens, cache_read, cache_write, cost, compartments, memories, is_open, counted, findings, holder
			FROM agent_calls
			WHERE at >= ?
			ORDER BY at, id`,
			func(row *sqlite3.Stmt) {
				call := chronicle.Call{
					At: row.ColumnInt64(0), Project: row.ColumnText(1), Directory: row.ColumnText(2), Agent: row.ColumnText(3), Model: row.ColumnText(4),
					Input: row.ColumnInt(5), Output: row.ColumnInt(6), CacheRead: row.ColumnInt(7), CacheWrite: row.ColumnInt(8),
					Compartments: row.ColumnInt(10), Memories: row.ColumnInt(11), Findings: row.ColumnInt(14),
					Cost: costAt(row, 9), Holder: row.ColumnText(15),
				}
				if row.ColumnBool(12) {
					call.Reserved = row.ColumnInt64(13)
				}
				all = append(all, call)
			}, since)
	})
	return all, runs, err
}
