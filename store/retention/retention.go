package retention

import (
	"context"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

const (
	KeptSession = store.KeptSession
	// KeptReply is how long the answer to a tool call is kept, for a harness that repeats the call after a crash.
	KeptReply = 30 * 24 * time.Hour
	// KeptModel is how long a model stays known after its last session was deleted.
	KeptModel = 365 * 24 * time.Hour
)

// A transaction deletes at most this number of rows, because a pass of another session may wait for it.
const forgottenRows = 500

// A tidy is a search for expired data. One tidy alone deletes nothing, because the clock may be wrong: TrustedTidies
// tidies must have found the data expired, and each must be at least tidyGap after the one before. So a wrong clock
// deletes data only if it stays wrong for two weeks of use.
const TrustedTidies = 14

// tidyGap is shorter than a day, because a host that starts every morning does not always start at the same minute.
const tidyGap = 20 * time.Hour

// Tidied records a tidy at the time `now` (Unix ms). The database keeps the newest TrustedTidies tidies, and Tidied
// returns the time of the oldest of them. Data may be deleted only if it had already expired at that time. If there
// were too few tidies, Tidied returns 0.
//
// For example, suppose that the clock jumps 100 days ahead. According to the clock, all sessions have then expired. But
// the oldest stored tidy is from before the jump, and at that time, the sessions in use had not expired. So nothing is
// deleted. If the clock goes back, Tidied forgets the tidies whose times are in the future.
func Tidied(ctx context.Context, s *store.Store, now int64) (agreed int64, err error) {
	err = s.Update(ctx, func(tx *database.Tx) error {
		for _, statement := range []struct {
			query string
			args  []any
		}{
			{`DELETE FROM tidies WHERE at > ?`, []any{now}},
			{`INSERT INTO tidies (at) SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM tidies WHERE at > ?1 - ?2)`, []any{now, tidyGap.Milliseconds()}},
			{`DELETE FROM tidies WHERE at NOT IN (SELECT at FROM tidies ORDER BY at DESC LIMIT ?)`, []any{TrustedTidies}},
		} {
			if _, err := tx.Exec(statement.query, statement.args...); err != nil {
				return err
			}
		}
		return tx.Scan(`SELECT iif(count(*) < ?, 0, min(at)) FROM tidies`,
			func(row *sqlite3.Stmt) { agreed = row.ColumnInt64(0) }, TrustedTidies)
	})
	if err != nil {
		return 0, fmt.Errorf("note the time of a tidy: %w", err)
	}
	return agreed, nil
}

// expiredSQL selects the sessions that were not used since ?1. It leaves out the parent of a live session and the
// original of a live fork. It recognises the fork because the fork contains the original's first unit, with the same
// fingerprint.
const expiredSQL = `
	SELECT s.harness, s.session_id
	FROM sessions AS s
	WHERE max(s.updated_at, s.last_pass_at) < ?1
		AND s.session_id NOT IN (SELECT c.parent FROM sessions AS c WHERE max(c.updated_at, c.last_pass_at) >= ?1)
		AND NOT EXISTS (
			SELECT 1
			FROM units AS mine
			JOIN units AS theirs USING (harness, fingerprint)
			JOIN sessions AS c ON c.harness = theirs.harness AND c.session_id = theirs.session_id
			WHERE mine.harness = s.harness AND mine.session_id = s.session_id AND mine.fingerprint <> 0 AND mine.tag = (
					SELECT min(u.tag) FROM units AS u
					WHERE u.harness = s.harness AND u.session_id = s.session_id AND u.fingerprint <> 0
				)
				AND max(c.updated_at, c.last_pass_at) >= ?1
		)
	ORDER BY max(s.updated_at, s.last_pass_at)`

// Expired returns the sessions that were last used before the time `before` (Unix ms). It leaves out sessions that a
// recently used session still needs.
func Expired(ctx context.Context, s *store.Store, before int64) (keys []store.Key, err error) {
	err = s.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, expiredSQL, func(row *sqlite3.Stmt) {
			keys = append(keys, store.Key{Harness: row.ColumnText(0), Session: row.ColumnText(1)})
		}, before)
	})
	if err != nil {
		return nil, fmt.Errorf("find expired sessions: %w", err)
	}
	return keys, nil
}

// The tables are in the order in which ForgetSome deletes their rows: the edits of a unit come before the unit. `key`
// is the column that identifies a row within its session.
var rowsOfSession = []struct{ table, key string }{
	{"edits", "tag"},
	{"queued_drops", "tag"},
	{"units", "tag"},
	{"thinking", "message_key"},
	{"tool_replies", "call_id"},
	{"compartments", "seq"},
	{"recomp_compartments", "seq"},
	{"withdrawn_compartments", "seq"},
	{"agent_runs", "subject, agent, run"},
	{"removals", "pass"},
	{"passes", "pass"},
}

// forgetRowsSQL deletes some rows of a session from a table.
const forgetRowsSQL = `
	DELETE FROM %[1]s WHERE harness = ?1 AND session_id = ?2 AND (%[2]s) IN (
		SELECT %[2]s FROM %[1]s WHERE harness = ?1 AND session_id = ?2 LIMIT ?3)`

// ForgetSome deletes some rows of an expired session, in one short transaction. If the session was used after the time
// `before` (Unix ms), ForgetSome deletes nothing. isDone means that nothing is left, or that the session was used. The
// caller must make sure that no pass of the session runs between the first call and the last.
func ForgetSome(ctx context.Context, s *store.Store, key store.Key, before int64) (isDone bool, err error) {
	isGone := false
	err = s.Update(ctx, func(tx *database.Tx) error {
		isExpired, err := tx.Exists(`
			SELECT 1 FROM sessions
			WHERE harness = ?1 AND session_id = ?2 AND max(updated_at, last_pass_at) < ?3`, key.Harness, key.Session, before)
		if err != nil || !isExpired {
			isDone = true
			return err
		}
		for _, of := range rowsOfSession {
			n, err := tx.Exec(fmt.Sprintf(forgetRowsSQL, of.table, of.key), key.Harness, key.Session, forgottenRows)
			if err != nil || n > 0 {
				return err // one table at a time
			}
		}
		isDone, isGone = true, true
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("forget session %s: %w", key, err)
	}
	if isGone {
		return true, s.DeleteSession(ctx, key)
	}
	return isDone, nil
}

// ForgetReplies deletes some of the answers to tool calls that are older than `before` (Unix ms). isDone means that
// none of them is left.
func ForgetReplies(ctx context.Context, s *store.Store, before int64) (isDone bool, err error) {
	var old [][3]string
	err = s.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, `SELECT harness, session_id, call_id FROM tool_replies WHERE at < ? LIMIT ?`, func(row *sqlite3.Stmt) {
			old = append(old, [3]string{row.ColumnText(0), row.ColumnText(1), row.ColumnText(2)})
		}, before, forgottenRows)
	})
	if err == nil && len(old) > 0 {
		err = s.Update(ctx, func(tx *database.Tx) error {
			for _, r := range old {
				if _, err := tx.Exec(`DELETE FROM tool_replies WHERE harness = ? AND session_id = ? AND call_id = ?`, r[0], r[1], r[2]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return false, fmt.Errorf("forget tool replies: %w", err)
	}
	return len(old) < forgottenRows, nil
}
