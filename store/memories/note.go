package memories

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// ErrNoNote means that neither the session nor its project has an open note with this id.
var ErrNoNote error = Refusal("there is no such open note")

const noteSQL = `
	SELECT id, coalesce(harness, source_harness), coalesce(session_id, source_session), project, message, content, condition, status, created_at, reason,
		said_by, updated_at
	FROM notes`

func readNote(s *sqlite3.Stmt) chronicle.Note {
	return chronicle.Note{
		ID: s.ColumnInt64(0), Harness: s.ColumnText(1), Session: s.ColumnText(2), Project: s.ColumnText(3), Message: s.ColumnInt(4),
		Content: s.ColumnText(5), Condition: s.ColumnText(6), Status: chronicle.NoteStatus(s.ColumnText(7)), CreatedAt: s.ColumnInt64(8),
		Reason: s.ColumnText(9), SaidBy: chronicle.Speaker(s.ColumnText(10)), UpdatedAt: s.ColumnInt64(11),
	}
}

// Notes returns the notes of a session and the notes of its project, the newest first. The notes of a project are the
// notes with a condition, and the promises. If all is true, Notes also returns closed notes.
func (r *Reader) Notes(harness, session, project string, all bool) (notes []chronicle.Note, err error) {
	err = r.scan(noteSQL+`
		WHERE (harness = ?1 AND session_id = ?2 OR session_id IS NULL AND project = ?3) AND (?4 OR status NOT IN ('done', 'dismissed'))
		ORDER BY id DESC`, func(row *sqlite3.Stmt) { notes = append(notes, readNote(row)) }, harness, session, project, all)
	return notes, err
}

// AllNotes returns the notes of all sessions and projects, newest first. If all is true, it includes closed notes.
func (r *Reader) AllNotes(all bool) (notes []chronicle.Note, err error) {
	notes = []chronicle.Note{} // not nil, so that the JSON of an empty list is []
	err = r.scan(noteSQL+` WHERE ? OR status NOT IN ('done', 'dismissed') ORDER BY id DESC`, func(row *sqlite3.Stmt) { notes = append(notes, readNote(row)) }, all)
	return notes, err
}

// maxNotes bounds the open notes of a session, and the open notes of a project.
const maxNotes = 200

// WriteNote stores a note. A note with a condition belongs to its project, any other note to its session.
func (e *Editor) WriteNote(n chronicle.Note) (chronicle.Note, error) {
	if err := checkWritten(&n); err != nil {
		return n, err
	}
	return e.insertNote(n)
}

// TakeNote stores an open note that was imported from another database. An imported note may be longer than a new one.
func (e *Editor) TakeNote(n chronicle.Note) error {
	err := checkNote(&n, maxImported)
	if err == nil {
		_, err = e.insertNote(n)
	}
	return err
}

func (e *Editor) insertNote(n chronicle.Note) (chronicle.Note, error) {
	e.tx.WritesMemories = true
	var harness, session any = n.Harness, n.Session
	if n.Status = chronicle.NoteIsActive; n.Condition != "" {
		n.Status, n.Harness, n.Session = chronicle.NoteIsPending, "", ""
		harness, session = nil, nil
	}
	open, err := e.Reader().Notes(n.Harness, n.Session, n.Project, false)
	if err != nil {
		return n, err
	}
	open = slices.DeleteFunc(open, func(n chronicle.Note) bool { return n.SaidBy != "" })
	n.CreatedAt = e.past(n.CreatedAt)
	if len(open) >= maxNotes {
		return n, Refuse("there are %d open notes; dismiss those that are done", len(open))
	}
	_, err = e.tx.Exec(`
		INSERT INTO notes (harness, session_id, project, message, content, condition, status, created_at, updated_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)`,
		harness, session, n.Project, n.Message, n.Content, n.Condition, string(n.Status), n.CreatedAt)
	n.ID = e.tx.Conn.LastInsertRowID()
	return n, err
}

// checkWritten checks a note that a model writes. Unlike checkNote, it also refuses a wrong condition, because the
// model can correct its mistake.
func checkWritten(n *chronicle.Note) error {
	err := checkNote(n, maxContent)
	if err == nil {
		if _, _, wrong := chronicle.ParseCondition(n.Condition); wrong != nil {
			err = Refusal(wrong.Error())
		}
	}
	return err
}

func checkNote(n *chronicle.Note, most int) error {
	n.Content, n.Condition = textOf(n.Content), textOf(n.Condition)
	for _, text := range []string{n.Content, n.Condition} {
		if size := utf8.RuneCountInString(text); size > most {
			return Refuse("a text has %d characters, and at most %d are possible", size, most)
		}
	}
	if n.Content == "" {
		return Refuse("content is empty")
	}
	if n.Condition != "" && n.Project == "" {
		return Refuse("the project of this session is not known yet, so the note cannot wait for a condition")
	}
	return nil
}

// UpdateNote changes the content or the condition of an open note of the session or its project. "" means no change. A
// note of a session cannot get a condition. If the condition changes, the note waits for the new condition, even if the
// old one was already met.
func (e *Editor) UpdateNote(of chronicle.Note, content, condition string) error {
	n, err := e.openNote(of)
	if err != nil {
		return err
	}
	if content == "" && condition == "" {
		return Refuse("content or condition must say what changes")
	}
	if n.SaidBy != "" {
		return Refuse("note %d holds what was said, so it does not change; dismiss it when it is done", n.ID)
	}
	if condition != "" && n.Condition == "" {
		return Refuse("this note belongs to the session and has no condition; write a new note with one")
	}
	before := n.Condition
	n.Content, n.Condition = cmp.Or(content, n.Content), cmp.Or(condition, n.Condition)
	if err := checkWritten(&n); err != nil {
		return err
	}
	_, err = e.tx.Exec(`UPDATE notes SET content = ?2, condition = ?3, updated_at = ?4 WHERE id = ?1`, n.ID, n.Content, n.Condition, e.now)
	if err == nil && n.Condition != before {
		_, err = e.tx.Exec(`UPDATE notes SET status = 'pending', reason = '', told = 0, seen = '' WHERE id = ?`, n.ID)
	}
	return err
}

func (e *Editor) DismissNote(of chronicle.Note) error {
	n, err := e.openNote(of)
	if err == nil {
		_, err = e.tx.Exec(`UPDATE notes SET status = 'dismissed', updated_at = ?2 WHERE id = ?1`, n.ID, e.now)
	}
	return err
}

// openNote returns the open note with the id of `of`, if it belongs to the session or the project of `of`.
func (e *Editor) openNote(of chronicle.Note) (found chronicle.Note, err error) {
	e.tx.WritesMemories = true
	open, err := e.Reader().Notes(of.Harness, of.Session, of.Project, false)
	for _, n := range open {
		if n.ID == of.ID {
			return n, err
		}
	}
	return found, cmp.Or(err, fmt.Errorf("%w: number %d", ErrNoNote, of.ID))
}

func (e *Editor) DeleteNote(id int64) error {
	e.tx.WritesMemories = true
	changed, err := e.tx.Exec(`DELETE FROM notes WHERE id = ?`, id)
	if err == nil && changed == 0 {
		err = Refuse("there is no note %d", id)
	}
	return err
}
