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

// keptPasses is how many passes of a session the journal keeps.
const keptPasses = 5000

// A PassRow is one line of a session's journal.
type PassRow struct {
	Pass         int
	At           int64  // Unix ms
	Verdict      string // "steady", "soft" or "hard"
	Cause        string
	Bust         bool
	BustCause    string
	Messages     int // number of raw messages in the transcript
	WireMessages int
	WireTokens   int
	PrefixTokens int // size of the prefix shared with the previous wire
	EditsAdded   int
	Pressure     float64
	// SizeTokens is the size that the pass expected for the next prompt if it changed nothing. GoalTokens is the size
	// that the pass wanted to reach, or 0.
	SizeTokens, GoalTokens int
	// Price is the estimated cost and gain of the bust at the moment of the decision, or zero.
	Price schema.BustPrice
	// LostBlocks counts the thinking blocks that the pass invalidated. LostTokens estimates their size.
	LostBlocks, LostTokens int
	// FoldReason says why the pass folded the head, or is "" if the pass did not fold. BaselineTokens and DeltaTokens
	// are the sizes of the head in the pass's wire.
	FoldReason                  string
	BaselineTokens, DeltaTokens int
	// MemoryTokens, ToolTokens and ReasoningTokens are parts of WireTokens.
	MemoryTokens, ToolTokens, ReasoningTokens int
	// Usage is nil until the provider has reported it.
	Usage *Usage
}

// Usage is the size of a request in tokens as the provider counted it. The whole prompt is the sum of the three
// fields.
type Usage struct {
	Input      int // neither read from nor written to the cache
	CacheRead  int
	CacheWrite int
}

//go:embed query/pass_insert.sql
var passInsertSQL string

//go:embed query/pass_select.sql
var passSelectSQL string

//go:embed query/usage_sums.sql
var usageSumsSQL string

// Pass numbers are consecutive, so the query finds the newest 5,000 passes without counting rows.
//
//go:embed query/pass_trim.sql
var passTrimSQL string

func (s *Store) appendJournal(tx *database.Tx, key Key, p PassRow) error {
	_, err := tx.Exec(passInsertSQL, key.Harness, key.Session, p.Pass, p.At, p.Verdict, p.Cause, p.Bust, p.BustCause,
		p.Messages, p.WireMessages, p.WireTokens, p.PrefixTokens, p.EditsAdded, p.Pressure,
		p.SizeTokens, p.GoalTokens, p.Price.Resent, p.Price.Removed, p.Price.BreakEven, p.Price.Forecast,
		p.LostBlocks, p.LostTokens, p.Price.Thinking, p.FoldReason, p.BaselineTokens, p.DeltaTokens, p.Price.Rent, p.Price.Cost,
		p.MemoryTokens, p.ReasoningTokens, p.ToolTokens)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if p.Pass <= keptPasses {
		return nil
	}
	_, err = tx.Exec(passTrimSQL, key.Harness, key.Session, p.Pass-keptPasses)
	if err != nil {
		return fmt.Errorf("trim journal: %w", err)
	}
	return nil
}

// SaveUsage stores the tokens that the provider reported for a pass, in the journal and in the sums of the session. A
// harness may report the same pass several times. A later report replaces the earlier one, and the sums count only the
// later one. If the journal no longer has the pass, SaveUsage ignores the report.
func (s *Store) SaveUsage(ctx context.Context, key Key, pass, input, cacheRead, cacheWrite int) error {
	err := s.Update(ctx, func(tx *database.Tx) error {
		_, err := tx.Exec(usageSumsSQL,
			key.Harness, key.Session, pass, input, cacheRead, cacheWrite, s.Clock.Now())
		if err != nil {
			return err
		}
		_, err = tx.Exec(`
			UPDATE passes
			SET input_tokens = ?4, cache_read = ?5, cache_write = ?6
			WHERE harness = ?1 AND session_id = ?2 AND pass = ?3`,
			key.Harness, key.Session, pass, input, cacheRead, cacheWrite)
		return err
	})
	if err != nil {
		return fmt.Errorf("save usage of pass %d of %s: %w", pass, key, err)
	}
	return nil
}

// MarkBust records in the journal that a pass lost its prefix because of a later event, for example a changed system
// prompt. If the pass is already a bust, its cause stays and isNew is false.
func (s *Store) MarkBust(ctx context.Context, key Key, pass int, cause string) (isNew bool, err error) {
	err = s.Update(ctx, func(tx *database.Tx) error {
		n, err := tx.Exec(`
			UPDATE passes
			SET bust = 1, bust_cause = ?4
			WHERE harness = ?1 AND session_id = ?2 AND pass = ?3 AND bust = 0`,
			key.Harness, key.Session, pass, cause)
		if err != nil || n == 0 {
			return err
		}
		isNew = true
		_, err = tx.Exec(`
			UPDATE sessions
			SET busts = busts + 1
			WHERE harness = ?1 AND session_id = ?2`,
			key.Harness, key.Session)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("mark bust of pass %d of %s: %w", pass, key, err)
	}
	return isNew, nil
}

// Passes returns the passes of a session with a number above `after`, oldest first. It returns at most `limit` passes,
// or all of them if limit is 0.
func (s *Reports) Passes(ctx context.Context, key Key, after, limit int) ([]PassRow, error) {
	var passes []PassRow
	err := s.view(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, passSelectSQL+`
			WHERE harness = ? AND session_id = ? AND pass > ?
			ORDER BY pass
			LIMIT ?`,
			func(row *sqlite3.Stmt) { passes = append(passes, readPass(row)) },
			key.Harness, key.Session, after, database.Limit(limit))
	})
	if err != nil {
		return nil, fmt.Errorf("read passes of %s: %w", key, err)
	}
	return passes, nil
}

func readPass(s *sqlite3.Stmt) PassRow {
	p := PassRow{
		Pass:         s.ColumnInt(0),
		At:           s.ColumnInt64(1),
		Verdict:      s.ColumnText(2),
		Cause:        s.ColumnText(3),
		Bust:         s.ColumnBool(4),
		BustCause:    s.ColumnText(5),
		Messages:     s.ColumnInt(6),
		WireMessages: s.ColumnInt(7),
		WireTokens:   s.ColumnInt(8),
		PrefixTokens: s.ColumnInt(9),
		EditsAdded:   s.ColumnInt(10),
		Pressure:     s.ColumnFloat(11),
		SizeTokens:   s.ColumnInt(15),
		GoalTokens:   s.ColumnInt(16),
		Price: schema.BustPrice{
			Resent: s.ColumnInt(17), Removed: s.ColumnInt(18), BreakEven: s.ColumnFloat(19), Forecast: s.ColumnInt(20), Thinking: s.ColumnInt(23),
			Cost: s.ColumnInt(28), Rent: s.ColumnInt(27),
		},
		LostBlocks: s.ColumnInt(21), LostTokens: s.ColumnInt(22),
		FoldReason: s.ColumnText(24), BaselineTokens: s.ColumnInt(25), DeltaTokens: s.ColumnInt(26),
		MemoryTokens: s.ColumnInt(29), ToolTokens: s.ColumnInt(30), ReasoningTokens: s.ColumnInt(31),
	}
	if s.ColumnType(12) != sqlite3.NULL {
		p.Usage = &Usage{Input: s.ColumnInt(12), CacheRead: s.ColumnInt(13), CacheWrite: s.ColumnInt(14)}
	}
	return p
}
