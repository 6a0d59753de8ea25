package memories

import (
	"context"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

const (
	// maxPromises bounds the open promises of a project, so that a model with a promise in each message does not fill
	// the table.
	maxPromises = 200
	// maxClosed bounds the closed promises that the store keeps for a project. A session may find a promise again that
	// is already closed. As long as the store has the closed promise, it recognises the promise, and does not open it
	// again.
	maxClosed = 1_000
)

// Keep stores the promises that were made in a session as notes of its project, and closes the promises listed in
// `closed`. It does not store a promise that the project already has.
func Keep(tx *database.Tx, project string, made []chronicle.Promise, closed []chronicle.Closing, harness, session string, now int64) error {
	e := Editing(tx, now)
	tx.WritesMemories = true
	for _, c := range closed {
		status, how := chronicle.NoteIsDismissed, "withdrawn"
		if c.IsDone {
			status, how = chronicle.NoteIsDone, "done"
		}
		err := e.exec(`
			UPDATE notes SET status = ?3, reason = ?4, updated_at = ?5
			WHERE id = ?1 AND project = ?2 AND said_by <> '' AND status = 'active'`,
			c.ID, project, string(status), fmt.Sprintf("%s in %s session %s, message %d", how, harness, session, c.Message), now)
		if err != nil {
			return fmt.Errorf("close promise %d: %w", c.ID, err)
		}
	}
	open := 0
	known := map[string]bool{}
	err := tx.Scan(`SELECT content, status = 'active' FROM notes WHERE project = ? AND said_by <> ''`, func(s *sqlite3.Stmt) {
		known[hash(s.ColumnText(0))] = true
		open += s.ColumnInt(1)
	}, project)
	for _, p := range made {
		words := textOf(p.Words)
		if err != nil || words == "" || known[hash(words)] || open >= maxPromises {
			continue
		}
		known[hash(words)] = true
		open++
		err = e.exec(`
			INSERT INTO notes (project, source_harness, source_session, said_by, message, content, status, created_at, updated_at)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'active', ?7, ?7)`, project, harness, session, string(p.By), p.Message, words, now)
	}
	if err == nil {
		err = e.exec(`
			DELETE FROM notes WHERE id IN (
				SELECT id FROM notes
				WHERE project = ? AND said_by <> '' AND status <> 'active'
				ORDER BY updated_at DESC, id DESC
				LIMIT -1 OFFSET ?)`, project, maxClosed)
	}
	if err != nil {
		return fmt.Errorf("promises: %w", err)
	}
	return nil
}

// Promises returns the promises of a project that are open or were closed after a time (Unix ms), oldest first.
func (s *Memories) Promises(ctx context.Context, project string, after int64) ([]chronicle.Note, error) {
	if project == "" {
		return nil, nil
	}
	return s.notes(question{"promises", project, after}, func() (all []chronicle.Note, err error) {
		err = s.db.View(ctx, func(c *sqlite3.Conn) error {
			return file.Scan(c, noteSQL+`
				WHERE project = ? AND said_by <> '' AND (status = 'active' OR updated_at > ?)
				ORDER BY id`, func(row *sqlite3.Stmt) { all = append(all, readNote(row)) }, project, after)
		})
		if err != nil {
			return nil, fmt.Errorf("read promises of project %s: %w", project, err)
		}
		return all, nil
	})
}

// SetDone closes an open note or promise of any session or project. If isDone is false, it opens the note again. A note
// with a condition then waits for its condition again.
func (e *Editor) SetDone(id int64, isDone bool) error {
	query, problem := `UPDATE notes SET status = 'done', updated_at = ?2 WHERE id = ?1 AND status NOT IN ('done', 'dismissed')`, fmt.Errorf("%w: number %d", ErrNoNote, id)
	if !isDone {
		problem = Refuse("no note %d is done or dismissed", id)
		query = `
			UPDATE notes
			SET status = CASE condition WHEN '' THEN 'active' ELSE 'pending' END, reason = '', told = 0, seen = '', updated_at = ?2
			WHERE id = ?1 AND status IN ('done', 'dismissed')`
	}
	e.tx.WritesMemories = true
	changed, err := e.tx.Exec(query, id, e.now)
	if err == nil && changed == 0 {
		err = problem
	}
	return err
}
