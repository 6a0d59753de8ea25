package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// RuleSummaries is the rule of a removal by summaries.
const RuleSummaries = "summaries"

// A RemovalRow says how many tokens a rule has removed from the wire in one pass.
type RemovalRow struct {
	Rule   string
	Tokens int
	// Through is the last ordinal that the head covers after a removal by RuleSummaries. For any other rule, Through is
	// 0.
	Through int
}

// A RereadRow says that the model has read again the content of a removed unit.
type RereadRow struct {
	Tag int
	// Ordinal is the ordinal of the unit's message. It is needed if a summary has removed the unit: then no edit tells
	// in which pass the unit left the wire. The store looks for the first pass whose head covers this ordinal.
	Ordinal int
	Tokens  int
}

// The query adds the tokens of a reread to one removal: the first one that took the content off the wire. It finds this
// removal by the unit's tag and ordinal. If the removal happened before the pass with the number `since`, the query
// does nothing.
//
//go:embed query/reread.sql
var rereadSQL string

// insertRemovals stores what a pass has removed. It also adds the rereads to the removals of earlier passes. A reread is
// ignored if its content was removed before the pass with the number `since`.
func insertRemovals(tx *database.Tx, key Key, pass PassRow, removals []RemovalRow, rereads []RereadRow, since int) error {
	for _, r := range rereads {
		if _, err := tx.Exec(rereadSQL, key.Harness, key.Session, r.Tag, r.Ordinal, r.Tokens, since, RuleSummaries); err != nil {
			return fmt.Errorf("reread of unit %d: %w", r.Tag, err)
		}
	}
	for _, r := range removals {
		_, err := tx.Exec(`
			INSERT INTO removals (harness, session_id, pass, rule, cause, tokens, through)
			VALUES (?, ?, ?, ?, ?, ?, ?)`, key.Harness, key.Session, pass.Pass, r.Rule, pass.Cause, r.Tokens, r.Through)
		if err != nil {
			return fmt.Errorf("removal by %s: %w", r.Rule, err)
		}
	}
	return nil
}

// Removals returns a session's removals by rule and cause, the largest first.
func (s *Reports) Removals(ctx context.Context, key Key) ([]schema.Removal, error) {
	all, err := s.removals(ctx, `
		SELECT rule, cause, sum(tokens), sum(rereads), sum(reread)
		FROM removals
		WHERE harness = ? AND session_id = ?
		GROUP BY rule, cause
		ORDER BY sum(tokens) DESC, rule, cause`, key.Harness, key.Session)
	if err != nil {
		return nil, fmt.Errorf("read removals of %s: %w", key, err)
	}
	return all, nil
}

// ProjectRemovals returns the removals in all sessions of a project, by rule but not by cause. For an unknown project,
// it returns none.
func (s *Reports) ProjectRemovals(ctx context.Context, project string) ([]schema.Removal, error) {
	all, err := s.removals(ctx, `
		SELECT rule, '', sum(tokens), sum(rereads), sum(reread)
		FROM sessions JOIN removals USING (harness, session_id)
		WHERE project = ? AND project <> ''
		GROUP BY rule
		ORDER BY rule`, project)
	if err != nil {
		return nil, fmt.Errorf("read removals of the project: %w", err)
	}
	return all, nil
}

//go:embed query/pass_removals.sql
var passRemovalsSQL string

// PassRemovals returns the removals of a session by pass. Within a pass, the largest removal comes first.
func (s *Reports) PassRemovals(ctx context.Context, key Key) (map[int][]RemovalRow, error) {
	all := make(map[int][]RemovalRow)
	err := s.view(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, passRemovalsSQL, func(row *sqlite3.Stmt) {
			pass := row.ColumnInt(0)
			all[pass] = append(all[pass], RemovalRow{Rule: row.ColumnText(1), Tokens: row.ColumnInt(2), Through: row.ColumnInt(3)})
		}, key.Harness, key.Session)
	})
	if err != nil {
		return nil, fmt.Errorf("read removals of %s by pass: %w", key, err)
	}
	return all, nil
}

func (s *Reports) removals(ctx context.Context, query string, args ...any) (all []schema.Removal, err error) {
	err = s.view(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, query, func(row *sqlite3.Stmt) {
			all = append(all, schema.Removal{Rule: row.ColumnText(0), Cause: row.ColumnText(1), Tokens: row.ColumnInt(2), Rereads: row.ColumnInt(3), Reread: row.ColumnInt(4)})
		}, args...)
	})
	return all, err
}
