package store

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// A Key names a session. Session ids are unique within a harness only.
type Key struct {
	Harness string
	Session string
}

func (k Key) String() string { return k.Harness + "/" + k.Session }

// A SessionRow is what the host remembers of a session beside its units. Each
// group of fields has one method that writes it, so that no writer undoes what
// another has stored since the row was read.
type SessionRow struct {
	Key Key

	// Written by CommitPass.
	Directory    string
	Parent       string
	Mode         string // "primary", "primary-no-reduce", "subagent" or "subagent-no-reduce"
	Provider     string
	Model        string
	Epoch        int
	TagCounter   int // highest tag ever given; a lower value does not lower it
	Passes       int
	Busts        int
	WireMessages int    // length of the last wire
	WireChain    string // hash chain over the last wire, hex

	// The same of the raw messages that the last wire was made from: it tells a
	// harness that changed what was sent from a mistake of ours.
	RawMessages int
	RawChain    string

	LastPassAt int64

	// Written by SaveUsage: tokens as the provider reported them, summed over
	// the passes, and the whole prompt of the newest pass that was reported.
	InputTokens  int64
	CacheRead    int64
	CacheWrite   int64
	PromptTokens int

	// Written by SaveSystem.
	System SystemState

	// ExplicitFlush is set by RequestFlush and cleared by CommitPass.
	ExplicitFlush bool

	// Written by MarkOverflow and ClearOverflow. OverflowAt, Unix ms, is when a
	// prompt of the session was refused for its length, 0 once that is dealt with;
	// OverflowPass is the pass that made the last such prompt.
	OverflowAt   int64
	OverflowPass int

	CreatedAt int64
	UpdatedAt int64
}

// SystemState is what makes the system prompt the same at each request.
type SystemState struct {
	StickyDate      string
	StickyDateEpoch int
	SystemHash      string
	SystemTokens    int
}

// A SessionSummary is a session with the counts that a status shows.
type SessionSummary struct {
	SessionRow
	Units   int
	Dropped int // units with an edit of kind "drop" or "skeleton"
	Queued  int
	// Last is the newest pass in the journal, nil when there is none.
	Last *PassRow
}

//go:embed query/session_select.sql
var sessionSelectSQL string

//go:embed query/session_counts.sql
var sessionCountsSQL string

func readSession(s *sqlite3.Stmt) SessionRow {
	return SessionRow{
		Key:          Key{Harness: s.ColumnText(0), Session: s.ColumnText(1)},
		Directory:    s.ColumnText(2),
		Parent:       s.ColumnText(3),
		Mode:         s.ColumnText(4),
		Provider:     s.ColumnText(5),
		Model:        s.ColumnText(6),
		Epoch:        s.ColumnInt(7),
		TagCounter:   s.ColumnInt(8),
		Passes:       s.ColumnInt(9),
		Busts:        s.ColumnInt(10),
		WireMessages: s.ColumnInt(11),
		WireChain:    s.ColumnText(12),
		InputTokens:  s.ColumnInt64(13),
		CacheRead:    s.ColumnInt64(14),
		CacheWrite:   s.ColumnInt64(15),
		PromptTokens: s.ColumnInt(16),
		System: SystemState{
			StickyDate:      s.ColumnText(17),
			StickyDateEpoch: s.ColumnInt(18),
			SystemHash:      s.ColumnText(19),
			SystemTokens:    s.ColumnInt(20),
		},
		RawMessages:   s.ColumnInt(21),
		RawChain:      s.ColumnText(22),
		ExplicitFlush: s.ColumnBool(23),
		LastPassAt:    s.ColumnInt64(24),
		CreatedAt:     s.ColumnInt64(25),
		UpdatedAt:     s.ColumnInt64(26),
		OverflowAt:    s.ColumnInt64(27),
		OverflowPass:  s.ColumnInt(28),
	}
}

// ensureSession creates the session's row if a hook comes before its first pass.
func (s *Store) ensureSession(ctx context.Context, tx *sql.Tx, key Key) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO sessions (harness, session_id, created_at, updated_at)
		VALUES (?1, ?2, ?3, ?3)
		ON CONFLICT (harness, session_id) DO NOTHING`,
		key.Harness, key.Session, s.clock.Now())
	return err
}

// SaveSystem stores the state of the system prompt.
func (s *Store) SaveSystem(ctx context.Context, key Key, state SystemState) error {
	err := s.update(ctx, func(tx *sql.Tx) error {
		if err := s.ensureSession(ctx, tx, key); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `
			UPDATE sessions
			SET sticky_date = ?3, sticky_date_epoch = ?4, system_hash = ?5, system_tokens = ?6, updated_at = ?7
			WHERE harness = ?1 AND session_id = ?2`,
			key.Harness, key.Session,
			state.StickyDate, state.StickyDateEpoch, state.SystemHash, state.SystemTokens, s.clock.Now())
		return err
	})
	if err != nil {
		return fmt.Errorf("save system state of %s: %w", key, err)
	}
	return nil
}

// RequestFlush records that the user asked, at the time at (Unix ms), for all
// queued work to be applied at the next pass.
func (s *Store) RequestFlush(ctx context.Context, key Key, at int64) error {
	err := s.update(ctx, func(tx *sql.Tx) error {
		if err := s.ensureSession(ctx, tx, key); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `
			UPDATE sessions
			SET explicit_flush = 1, updated_at = ?3
			WHERE harness = ?1 AND session_id = ?2`,
			key.Harness, key.Session, at)
		return err
	})
	if err != nil {
		return fmt.Errorf("request flush of %s: %w", key, err)
	}
	return nil
}

// DeleteSession deletes all that is known of a session. Deleting an unknown
// session is no error.
func (s *Store) DeleteSession(ctx context.Context, key Key) error {
	err := s.update(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			DELETE FROM sessions
			WHERE harness = ? AND session_id = ?`,
			key.Harness, key.Session)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete session %s: %w", key, err)
	}
	return nil
}

// Sessions returns the sessions that had a pass last, newest first. A limit of
// 0 returns all.
func (s *Store) Sessions(ctx context.Context, limit int) ([]SessionSummary, error) {
	var all []SessionSummary
	err := s.view(ctx, func(c *sqlite3.Conn) error {
		err := scan(c, sessionSelectSQL+`ORDER BY last_pass_at DESC, harness, session_id LIMIT ?`,
			func(row *sqlite3.Stmt) { all = append(all, SessionSummary{SessionRow: readSession(row)}) },
			noLimit(limit))
		if err != nil {
			return err
		}
		for i := range all {
			if err := summarise(c, &all[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return all, nil
}

// Session returns one session with its counts, and whether it is known.
func (s *Store) Session(ctx context.Context, key Key) (sum SessionSummary, found bool, err error) {
	err = s.view(ctx, func(c *sqlite3.Conn) error {
		err := scan(c, sessionSelectSQL+`WHERE harness = ? AND session_id = ?`,
			func(row *sqlite3.Stmt) { sum.SessionRow, found = readSession(row), true },
			key.Harness, key.Session)
		if err != nil || !found {
			return err
		}
		return summarise(c, &sum)
	})
	if err != nil {
		return sum, false, fmt.Errorf("read session %s: %w", key, err)
	}
	return sum, found, nil
}

func summarise(c *sqlite3.Conn, sum *SessionSummary) error {
	err := scan(c, sessionCountsSQL, func(row *sqlite3.Stmt) {
		sum.Units, sum.Dropped, sum.Queued = row.ColumnInt(0), row.ColumnInt(1), row.ColumnInt(2)
	}, sum.Key.Harness, sum.Key.Session)
	if err != nil {
		return err
	}
	return scan(c, passSelectSQL+`
		WHERE harness = ? AND session_id = ?
		ORDER BY pass DESC
		LIMIT 1`,
		func(row *sqlite3.Stmt) {
			last := readPass(row)
			sum.Last = &last
		}, sum.Key.Harness, sum.Key.Session)
}

// noLimit turns our "0 is all" into SQLite's "-1 is all".
func noLimit(limit int) int {
	if limit <= 0 {
		return -1
	}
	return limit
}
