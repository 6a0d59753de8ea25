package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// A HistoryEnd says where the compartments of a session end. If the end has changed during a run, the store refuses
// the run's publication.
type HistoryEnd struct {
	Seq     int // the next compartment gets this number
	Ordinal int // the first message that no compartment covers
	// Generation counts how often stored compartments were replaced or removed.
	Generation int
}

const (
	publishedTable = "compartments"
	stagedTable    = "recomp_compartments"
	withdrawnTable = "withdrawn_compartments"
)

const compartmentColumns = `seq, start_ordinal, end_ordinal, message_keys, after_summary, title, p1, p2, p3, p4,
	importance, episode, missing, rules, fidelity, made_by, model, raw_tokens, created_at`

// The SQL statements for compartments, by table.
var (
	compartmentSelectSQL, compartmentInsertSQL, compartmentDeleteSQL = map[string]string{}, map[string]string{}, map[string]string{}
)

func init() {
	for _, table := range []string{publishedTable, stagedTable, withdrawnTable} {
		compartmentSelectSQL[table] = `SELECT ` + compartmentColumns + ` FROM ` + table + `
			WHERE harness = ?1 AND session_id = ?2 AND end_ordinal >= ?3
			ORDER BY seq`
		compartmentInsertSQL[table] = `INSERT INTO ` + table + ` (harness, session_id, ` + compartmentColumns + `)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
		compartmentDeleteSQL[table] = `DELETE FROM ` + table + `
			WHERE harness = ?1 AND session_id = ?2 AND end_ordinal >= ?3`
	}
}

// Compartments returns the compartments of a session in order, and the end of its history. If a disk fault or another
// program has changed the ranges, it repairs them first. Wrong ranges would give ordinals to messages that do not
// exist.
func (s *History) Compartments(ctx context.Context, key Key) (rows []chronicle.Compartment, end HistoryEnd, err error) {
	if rows, end, err = s.compartments(ctx, key); err != nil {
		return nil, HistoryEnd{}, err
	}
	healed, isSound := healRanges(rows)
	if isSound {
		return rows, end, nil
	}
	s.db.Log.Error("the ranges of summaries make no sense and are restored", "session", key.Session, "compartments", len(rows), "kept", len(healed))
	if err := s.replaceCompartments(ctx, key, healed); err != nil {
		return nil, HistoryEnd{}, err
	}
	return s.compartments(ctx, key)
}

func (s *History) compartments(ctx context.Context, key Key) (rows []chronicle.Compartment, end HistoryEnd, err error) {
	err = s.db.View(ctx, func(c *sqlite3.Conn) (err error) {
		if rows, err = readCompartments(c, key); err != nil {
			return err
		}
		end, err = readHistoryEnd(func(query string, row func(*sqlite3.Stmt), args ...any) error {
			return file.Scan(c, query, row, args...)
		}, key)
		return err
	})
	if err != nil {
		return nil, HistoryEnd{}, fmt.Errorf("read compartments of %s: %w", key, err)
	}
	return rows, end, nil
}

func readCompartments(c *sqlite3.Conn, key Key) (rows []chronicle.Compartment, err error) {
	err = file.Scan(c, compartmentSelectSQL[publishedTable],
		func(row *sqlite3.Stmt) { rows = append(rows, readCompartment(row)) }, key.Harness, key.Session, 0)
	return rows, err
}

func readCompartment(s *sqlite3.Stmt) chronicle.Compartment {
	var keys []string
	var rules []chronicle.Rule
	_ = json.Unmarshal([]byte(s.ColumnText(13)), &rules) // a damaged value costs the rules, and not the session
	_ = json.Unmarshal([]byte(s.ColumnText(3)), &keys)   // a compartment without keys counts its messages backwards from its end
	return chronicle.Compartment{
		Seq: s.ColumnInt(0), Start: s.ColumnInt(1), End: s.ColumnInt(2), Keys: keys, AfterSummary: s.ColumnText(4),
		Title:      s.ColumnText(5),
		Tiers:      [4]string{s.ColumnText(6), s.ColumnText(7), s.ColumnText(8), s.ColumnText(9)},
		Importance: s.ColumnInt(10), Episode: s.ColumnText(11), Missing: s.ColumnText(12), Rules: rules, Fidelity: s.ColumnFloat(14),
		MadeBy: chronicle.MadeBy(s.ColumnText(15)), Model: s.ColumnText(16), RawTokens: s.ColumnInt(17), CreatedAt: s.ColumnInt64(18),
	}
}

//go:embed query/history_end.sql
var historyEndSQL string

// `query` must run in the caller's transaction.
func readHistoryEnd(query func(string, func(*sqlite3.Stmt), ...any) error, key Key) (end HistoryEnd, err error) {
	err = query(historyEndSQL, func(row *sqlite3.Stmt) {
		end = HistoryEnd{Seq: row.ColumnInt(0), Ordinal: row.ColumnInt(1), Generation: row.ColumnInt(2)}
	}, key.Harness, key.Session)
	return end, err
}

var errNotContiguous = errors.New("compartments are not contiguous")

func insertCompartments(tx *database.Tx, table string, key Key, end HistoryEnd, rows []chronicle.Compartment, now int64) error {
	for i, r := range rows {
		if r.Start != end.Ordinal || r.End < r.Start {
			return fmt.Errorf("%w: %d-%d comes where message %d is next", errNotContiguous, r.Start, r.End, end.Ordinal)
		}
		if r.CreatedAt == 0 {
			r.CreatedAt = now
		}
		keys, err := json.Marshal(r.Keys)
		if err != nil {
			return err
		}
		rules, err := json.Marshal(r.Rules)
		if err != nil {
			return err
		}
		_, err = tx.Exec(compartmentInsertSQL[table], key.Harness, key.Session, end.Seq+i, r.Start, r.End, string(keys), r.AfterSummary,
			r.Title, r.Tiers[0], r.Tiers[1], r.Tiers[2], r.Tiers[3], clampImportance(r.Importance), r.Episode, r.Missing, string(rules),
			clampShare(r.Fidelity), string(r.MadeBy), r.Model, r.RawTokens, r.CreatedAt)
		if err != nil {
			return fmt.Errorf("compartment %d-%d: %w", r.Start, r.End, err)
		}
		end.Ordinal = r.End + 1
	}
	return nil
}

func clampImportance(n int) int { return min(max(1, n), 100) }

// A value that is not a number becomes 0.
func clampShare(f float64) float64 {
	if !(f > 0) {
		return 0
	}
	return min(f, 1)
}
