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

// Calls are the questions that agents have asked. Runs are forgotten with their session, but the money stays spent.
type Calls struct{ db *database.DB }

// NewCalls returns the calls in a database.
func NewCalls(db *database.DB) *Calls { return &Calls{db} }

//go:embed query/call_insert.sql
var callInsertSQL string

// Record stores a call that has just ended. holder is the holder of the lease of its run. The store itself sets the time
// and the project.
func (s *Calls) Record(ctx context.Context, w Work, holder string, c chronicle.Call) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error {
		cost := any(nil)
		if c.Cost != nil {
			cost = *c.Cost
		}
		_, err := tx.Exec(callInsertSQL, s.db.Clock.Now(), w.Subject.Project, w.Subject.Harness, w.Subject.Session, c.Directory, w.Agent, holder,
			c.Model, c.Input, c.Output, c.CacheRead, c.CacheWrite, cost)
		return err
	})
	if err != nil {
		return fmt.Errorf("record call of the %s: %w", w, err)
	}
	return nil
}

// Forget deletes the calls before a given time (Unix ms).
func (s *Calls) Forget(ctx context.Context, before int64) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error {
		_, err := tx.Exec(`DELETE FROM agent_calls WHERE at < ?`, before)
		return err
	})
	if err != nil {
		return fmt.Errorf("forget calls of agents: %w", err)
	}
	return nil
}

// Credit records, with the last call of a run, what the run has published. If the run has asked no model, Credit does
// nothing.
func Credit(tx *database.Tx, holder string, compartments, memories int) error {
	_, err := tx.Exec(`
		UPDATE agent_calls
		SET compartments = compartments + ?2, memories = memories + ?3
		WHERE id = (SELECT id FROM agent_calls WHERE holder = ?1 ORDER BY id DESC LIMIT 1)`, holder, compartments, memories)
	if err != nil {
		return fmt.Errorf("credit the run %s: %w", holder, err)
	}
	return nil
}

// View returns the calls in the database in dir since a given time (Unix ms), oldest first. A host may have the
// database open. See file.View for the errors.
func View(ctx context.Context, dir string, since int64) (all []chronicle.Call, err error) {
	err = file.View(ctx, dir, func(c *sqlite3.Conn) error {
		return file.Scan(c, `
			SELECT at, project, directory, agent, model, input_tokens, output_tokens, cache_read, cache_write, cost, compartments, memories
			FROM agent_calls
			WHERE at >= ?
			ORDER BY at, id`,
			func(row *sqlite3.Stmt) {
				call := chronicle.Call{
					At: row.ColumnInt64(0), Project: row.ColumnText(1), Directory: row.ColumnText(2), Agent: row.ColumnText(3), Model: row.ColumnText(4),
					Input: row.ColumnInt(5), Output: row.ColumnInt(6), CacheRead: row.ColumnInt(7), CacheWrite: row.ColumnInt(8),
					Compartments: row.ColumnInt(10), Memories: row.ColumnInt(11),
				}
				if row.ColumnType(9) != sqlite3.NULL {
					cost := row.ColumnInt64(9)
					call.Cost = &cost
				}
				all = append(all, call)
			}, since)
	})
	return all, err
}
