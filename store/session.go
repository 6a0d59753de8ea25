package store

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// A Key identifies a session. The session id is unique only within its harness.
type Key struct {
	Harness string
	Session string
}

func (k Key) String() string { return k.Harness + "/" + k.Session }

// A SessionRow is the state of a session, without its units. Each group of fields is written by exactly one method, so
// that no method overwrites another method's newer value.
type SessionRow struct {
	Key Key

	// Written by CommitPass.
	Directory    string
	Project      string // the identity of the directory's project, "" if it is not known yet
	Parent       string
	Mode         string // "primary", "primary-no-reduce", "subagent" or "subagent-no-reduce"
	Provider     string
	Model        string
	Epoch        int
	TagCounter   int // highest tag ever given; if the stored value is higher, the stored value stays
	Passes       int
	Busts        int
	WireMessages int    // length of the last wire
	WireChain    string // hash chain over the last wire, hex

	// RawMessages and RawChain are the length and the hash chain of the raw messages behind the last wire. If a wire
	// changes unexpectedly, they show whether the harness or the host has caused the change.
	RawMessages int
	// RawTokens is the estimated size of the next prompt without magicctx, or 0.
	RawTokens int
	RawChain  string
	// Agent is the name of the harness's agent in the last pass.
	Agent string
	// LimitTokens is the prompt limit that the harness's catalogue named in the last pass, or 0. The catalogues of two
	// harnesses may name different limits for the same model.
	LimitTokens int
	// LostBlocks and LostTokens sum up the thinking that all passes have invalidated.
	LostBlocks, LostTokens int

	Setup   SetupState
	Episode EpisodeState
	Gauge   GaugeState
	Rent    RentState
	Tail    TailState

	LastPassAt int64

	// SaveUsage writes these fields. PromptTokens is the prompt of the newest pass whose usage was reported. The other
	// fields sum up all passes.
	InputTokens  int64
	CacheRead    int64
	CacheWrite   int64
	PromptTokens int

	// Written by SaveSystem.
	System SystemState

	// The harness's title of the session, written by SaveTitle.
	Title string

	// ExplicitFlush is set by RequestFlush and cleared by CommitPass.
	ExplicitFlush bool

	// MarkOverflow and ClearOverflow write these fields. OverflowAt is the time (Unix ms) at which the provider refused
	// a prompt as too long. Once space has been freed, OverflowAt is 0 again. OverflowPass is the pass of the last
	// refused prompt. OverflowTokens is the size of this prompt according to the provider, or 0 if the provider did not
	// say.
	OverflowAt     int64
	OverflowPass   int
	OverflowTokens int

	UpdatedAt int64
}

// SystemState is what the host stores in order to send the same system prompt with each request.
type SystemState struct {
	StickyDate      string
	StickyDateEpoch int
	SystemHash      string
	SystemTokens    int
	// Text is the frozen system prompt as a JSON array of strings, or "". It was frozen at the time At (Unix ms), for
	// the preamble whose number is Preamble (see SetupState.Preamble). Pending means that the harness's system prompt
	// now differs from the prompt of the newest stored pass.
	Text     string
	Preamble int
	Pending  bool
	At       int64
}

// SetupState holds the settings that affect a session's wire.
type SetupState struct {
	Profile     string // the provider's profile
	Binds       bool   // the model binds its thinking to the prompt before it
	Preamble    int    // number of changes of model, system prompt or tools so far
	ShowGaps    bool
	TodoMessage string // message that carries the synthetic todo list, or ""
	TodoState   string
	ReclaimUpTo int // highest tag that an earlier pass could have dropped
}

// EpisodeState is the stored state of the pressure episode.
type EpisodeState struct {
	ReliefOf                        string
	Relief                          int
	StuckTag, StuckGrace, StuckBand int
}

// GaugeState is the stored form of a pipeline.Gauge, which relates the newest usage to the host's own count. It is zero
// before the first usage. The usage may describe a prompt that no longer exists, for example after a revert.
type GaugeState struct {
	Of                string
	Tokens, Own, Base int
}

// RentState is the stored form of a pipeline.Rent. Paid, Coverable and Price are costs. Their unit is the price of
// reading one token from the cache. Removable and Queued are sizes in tokens.
type RentState struct {
	Paid, Coverable, Removable, Queued, Messages, Price, GrewAt int
}

// TailState holds the sizes of the messages after the head, by kind, in tokens.
type TailState struct {
	Text, Files, Inputs, Results int
}

// A SessionSummary is a session with the counts for a status.
type SessionSummary struct {
	SessionRow
	Units   int
	Dropped int // units with an edit of kind "drop" or "skeleton"
	Queued  int
	// DroppedTokens is the number of tokens that these edits have removed from the wire. A skeleton leaves its call on
	// the wire, so the call's input does not count.
	DroppedTokens int64
	// Last is the newest pass in the journal, or nil if there is none.
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
		Title:        s.ColumnText(4),
		Mode:         s.ColumnText(5),
		Provider:     s.ColumnText(6),
		Model:        s.ColumnText(7),
		Agent:        s.ColumnText(8),
		Epoch:        database.Count(s, 9),
		TagCounter:   database.Count(s, 10),
		Passes:       database.Count(s, 11),
		Busts:        database.Count(s, 12),
		WireMessages: database.Count(s, 13),
		WireChain:    s.ColumnText(14),
		RawMessages:  database.Count(s, 15),
		RawChain:     s.ColumnText(16),
		RawTokens:    database.Count(s, 17),
		InputTokens:  total(s, 18),
		CacheRead:    total(s, 19),
		CacheWrite:   total(s, 20),
		PromptTokens: database.Count(s, 21),
		System: SystemState{
			StickyDate:      s.ColumnText(22),
			StickyDateEpoch: database.Count(s, 23),
			SystemHash:      s.ColumnText(24),
			SystemTokens:    database.Count(s, 25),
			Text:            s.ColumnText(26),
			Preamble:        database.Count(s, 27),
			Pending:         s.ColumnBool(28),
			At:              s.ColumnInt64(29),
		},
		Setup: SetupState{
			Profile:     s.ColumnText(30),
			Binds:       s.ColumnBool(31),
			Preamble:    database.Count(s, 32),
			ShowGaps:    s.ColumnBool(33),
			TodoMessage: s.ColumnText(34),
			TodoState:   s.ColumnText(35),
			ReclaimUpTo: database.Count(s, 36),
		},
		LostBlocks: database.Count(s, 37),
		LostTokens: database.Count(s, 38),
		Episode: EpisodeState{
			ReliefOf:   s.ColumnText(39),
			Relief:     database.Count(s, 40),
			StuckTag:   database.Count(s, 41),
			StuckGrace: database.Count(s, 42),
			StuckBand:  database.Count(s, 43),
		},
		Gauge: GaugeState{
			Of:     s.ColumnText(44),
			Tokens: database.Count(s, 45),
			Own:    database.Count(s, 46),
			Base:   database.Count(s, 47),
		},
		Rent: RentState{
			Paid: database.Count(s, 48), Coverable: database.Count(s, 49), Removable: s.ColumnInt(50), Price: database.Count(s, 53), Queued: database.Count(s, 51), Messages: database.Count(s, 52), GrewAt: database.Count(s, 54),
		},
		ExplicitFlush:  s.ColumnBool(55),
		OverflowAt:     s.ColumnInt64(56),
		OverflowPass:   database.Count(s, 57),
		OverflowTokens: database.Count(s, 58),
		LastPassAt:     s.ColumnInt64(59),
		UpdatedAt:      s.ColumnInt64(60),
		Project:        s.ColumnText(61),

		Tail: TailState{database.Count(s, 62), database.Count(s, 63), database.Count(s, 64), database.Count(s, 65)},

		LimitTokens: database.Count(s, 66),
	}
}

// ForgetRawTokens sets RawTokens to 0, which means unknown, until the next pass.
func (s *Store) ForgetRawTokens(ctx context.Context, key Key) error {
	err := s.Update(ctx, func(tx *database.Tx) error {
		_, err := tx.Exec(`UPDATE sessions SET raw_tokens = 0 WHERE harness = ?1 AND session_id = ?2`, key.Harness, key.Session)
		return err
	})
	if err != nil {
		return fmt.Errorf("forget the raw size of %s: %w", key, err)
	}
	return nil
}

// A hook may be called before the session's first pass, so ensureSession creates a missing row.
func (s *Store) ensureSession(tx *database.Tx, key Key) error {
	_, err := tx.Exec(`
		INSERT INTO sessions (harness, session_id, updated_at)
		VALUES (?1, ?2, ?3)
		ON CONFLICT (harness, session_id) DO NOTHING`,
		key.Harness, key.Session, s.Clock.Now())
	return err
}

func (s *Store) SaveSystem(ctx context.Context, key Key, state SystemState) error {
	err := s.Update(ctx, func(tx *database.Tx) error {
		if err := s.ensureSession(tx, key); err != nil {
			return err
		}
		return saveSystem(tx, key, state, s.Clock.Now())
	})
	if err != nil {
		return fmt.Errorf("save system state of %s: %w", key, err)
	}
	return nil
}

func saveSystem(tx *database.Tx, key Key, state SystemState, now int64) error {
	_, err := tx.Exec(`
		UPDATE sessions
		SET sticky_date = ?3, sticky_date_epoch = ?4, system_hash = ?5, system_tokens = ?6, updated_at = ?7,
			system_text = ?8, system_preamble = ?9, system_pending = ?10, system_at = ?11
		WHERE harness = ?1 AND session_id = ?2`,
		key.Harness, key.Session,
		state.StickyDate, state.StickyDateEpoch, state.SystemHash, state.SystemTokens, now,
		state.Text, state.Preamble, state.Pending, state.At)
	return err
}

// RequestFlush records that the user wants the next pass to apply all queued work. `at` is the time of the request in
// Unix ms.
func (s *Store) RequestFlush(ctx context.Context, key Key, at int64) error {
	err := s.Update(ctx, func(tx *database.Tx) error {
		if err := s.ensureSession(tx, key); err != nil {
			return err
		}
		_, err := tx.Exec(`
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

// KeptSession is how long a session is kept after its last use. Without this limit, some sessions would stay for ever:
// if a harness deletes a session while no host runs, the host never learns of the deletion.
const KeptSession = 90 * 24 * time.Hour

// DiscardSession marks a session as expired, so that package retention deletes it the next time it tidies the store. If
// the user continues the session before that, nothing is lost.
func (s *Store) DiscardSession(ctx context.Context, key Key) error {
	err := s.Update(ctx, func(tx *database.Tx) error {
		_, err := tx.Exec(`
			UPDATE sessions
			SET updated_at = min(updated_at, ?3), last_pass_at = min(last_pass_at, ?3)
			WHERE harness = ?1 AND session_id = ?2`,
			key.Harness, key.Session, s.Clock.Now()-KeptSession.Milliseconds())
		return err
	})
	if err != nil {
		return fmt.Errorf("discard session %s: %w", key, err)
	}
	return nil
}

// NewestSession returns the session that the user has used last in a directory, or a row without a key.
func (s *Store) NewestSession(ctx context.Context, harness, directory string) (r SessionRow, err error) {
	err = s.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, `
			SELECT session_id, project, provider, model FROM sessions
			WHERE harness = ? AND directory = ? AND parent = ''
			ORDER BY last_pass_at DESC LIMIT 1`,
			func(row *sqlite3.Stmt) {
				r = SessionRow{Key: Key{harness, row.ColumnText(0)}, Directory: directory, Project: row.ColumnText(1), Provider: row.ColumnText(2), Model: row.ColumnText(3)}
			}, harness, directory)
	})
	if err != nil {
		return SessionRow{}, fmt.Errorf("read newest session of %s: %w", directory, err)
	}
	return r, nil
}

// LastPassAt returns the time of the newest pass (Unix ms), or 0.
func (s *Store) LastPassAt(ctx context.Context) (at int64, err error) {
	err = s.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, `SELECT coalesce(max(last_pass_at), 0) FROM sessions`, func(row *sqlite3.Stmt) { at = row.ColumnInt64(0) })
	})
	if err != nil {
		return 0, fmt.Errorf("read the time of the newest pass: %w", err)
	}
	return at, nil
}

// DeleteSession deletes everything about a session, which may be unknown.
func (s *Store) DeleteSession(ctx context.Context, key Key) error {
	err := s.Update(ctx, func(tx *database.Tx) error {
		_, err := tx.Exec(`
			DELETE FROM sessions
			WHERE harness = ? AND session_id = ?`,
			key.Harness, key.Session)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete session %s: %w", key, err)
	}
	s.Waiting.Forget(key)
	return nil
}

// Session returns one session with its counts. If the session is unknown, found is false.
func (s *Reports) Session(ctx context.Context, key Key) (sum SessionSummary, found bool, err error) {
	err = s.view(ctx, func(c *sqlite3.Conn) error {
		err := file.Scan(c, sessionSelectSQL+`WHERE harness = ? AND session_id = ?`,
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
	err := file.Scan(c, sessionCountsSQL, func(row *sqlite3.Stmt) {
		sum.Units, sum.Dropped, sum.Queued, sum.DroppedTokens = row.ColumnInt(0), row.ColumnInt(1), row.ColumnInt(2), row.ColumnInt64(3)
	}, sum.Key.Harness, sum.Key.Session)
	if err != nil {
		return err
	}
	return file.Scan(c, passSelectSQL+`
		WHERE harness = ? AND session_id = ?
		ORDER BY pass DESC
		LIMIT 1`,
		func(row *sqlite3.Stmt) {
			last := readPass(row)
			sum.Last = &last
		}, sum.Key.Harness, sum.Key.Session)
}
