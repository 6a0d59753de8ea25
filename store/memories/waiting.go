package memories

import (
	"context"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// A Waiting is a note whose condition is not true yet.
type Waiting struct {
	ID        int64
	Condition string
	// Since is the time of its newest change, in Unix ms.
	Since int64
	// Seen is a text that each test of the condition can leave for the next test. For example, the test of "merged: login"
	// stores the newest commit of the branch, because the branch may be deleted before the next test.
	Seen string
}

// A Tested is the result of testing a note's condition once. If the condition is true, Reason says why. Otherwise
// Reason is "", and the store keeps Seen for the next test.
type Tested struct {
	Waiting
	Reason string
}

// Waiting returns at most limit notes of a project that wait for a condition, oldest first.
func (s *Memories) Waiting(ctx context.Context, project string, limit int) (all []Waiting, err error) {
	err = s.db.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, `
			SELECT id, condition, updated_at, seen
			FROM notes
			WHERE project = ? AND session_id IS NULL AND status = 'pending'
			ORDER BY id
			LIMIT ?`, func(row *sqlite3.Stmt) {
			all = append(all, Waiting{row.ColumnInt64(0), row.ColumnText(1), row.ColumnInt64(2), row.ColumnText(3)})
		}, project, limit)
	})
	if err != nil {
		return nil, fmt.Errorf("read the waiting notes of project %s: %w", project, err)
	}
	return all, nil
}

// Settle stores the results of tests. If a note has changed since, its result is ignored.
func (s *Memories) Settle(ctx context.Context, all []Tested) error {
	return s.db.Update(ctx, func(tx *database.Tx) error {
		tx.WritesMemories = true
		for _, t := range all {
			_, err := tx.Exec(`
				UPDATE notes
				SET reason = ?3, seen = ?4, status = CASE ?3 WHEN '' THEN status ELSE 'ready' END
				WHERE id = ?1 AND condition = ?2 AND status = 'pending'`, t.ID, t.Condition, t.Reason, t.Seen)
			if err != nil {
				return fmt.Errorf("note %d: %w", t.ID, err)
			}
		}
		return nil
	})
}

// Untold returns at most limit ready notes of a project that no model was told about, oldest first.
func (s *Memories) Untold(ctx context.Context, project string, limit int) ([]chronicle.Note, error) {
	return s.notes(question{"untold", project, int64(limit)}, func() (all []chronicle.Note, err error) {
		err = s.db.View(ctx, func(c *sqlite3.Conn) error {
			return file.Scan(c, noteSQL+`
				WHERE project = ? AND session_id IS NULL AND status = 'ready' AND told = 0
				ORDER BY id
				LIMIT ?`, func(row *sqlite3.Stmt) { all = append(all, readNote(row)) }, project, limit)
		})
		if err != nil {
			return nil, fmt.Errorf("read the ready notes of project %s: %w", project, err)
		}
		return all, nil
	})
}

// Told records that a model was told about ready notes.
func Told(tx *database.Tx, notes []int64) error {
	for _, id := range notes {
		tx.WritesMemories = true
		if _, err := tx.Exec(`UPDATE notes SET told = 1 WHERE id = ?`, id); err != nil {
			return fmt.Errorf("note %d: %w", id, err)
		}
	}
	return nil
}
