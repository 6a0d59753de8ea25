package index

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/terms"
	"github.com/magicctx/magicctx-host/store/file"
)

var (
	//go:embed query/chunk_insert.sql
	chunkInsertSQL string
	//go:embed query/session_upsert.sql
	sessionUpsertSQL string
)

// A Tx is one running write transaction.
type Tx struct {
	x    *Index
	seen map[string]bool // the words of the chunk that is written
	text []byte
}

// Update runs f in one write transaction. If f fails, nothing is stored.
func (x *Index) Update(ctx context.Context, f func(*Tx) error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	err := func() (err error) {
		if x.conn == nil {
			return errors.New("the index is closed")
		}
		defer x.conn.SetInterrupt(x.conn.SetInterrupt(ctx))
		tx, err := x.conn.BeginImmediate()
		if err != nil {
			return err
		}
		defer func() {
			if err != nil {
				clear(x.projects) // a project of the failed transaction has no row
			}
		}()
		defer tx.End(&err)
		return f(&Tx{x: x, seen: map[string]bool{}})
	}()
	if err != nil {
		return fmt.Errorf("%w %s: %w", ErrWrite, x.path, file.Classify(ctx, err))
	}
	return nil
}

// A State says how far a session was read.
type State struct {
	Row int64
	// Through and Tail are the ordinal and the key of the newest message that the index has read. Before the first
	// read, Through is 0.
	Through int
	Tail    string
	// Stamp is the state of the session's source when the session was read to its end. Until that time, it is "".
	Stamp string
}

// Session stores a session. If the session has moved to another project, it must be read again, because the terms of
// its chunks name the project.
func (tx *Tx) Session(s Session) (state State, err error) {
	project, err := tx.project(s.Project)
	if err != nil {
		return state, err
	}
	var moved int64
	err = tx.x.scan(`SELECT id FROM sessions WHERE harness = ? AND session = ? AND project <> ?`,
		func(s *sqlite3.Stmt) { moved = s.ColumnInt64(0) }, s.Harness, s.ID, project)
	if err == nil && moved != 0 {
		err = tx.Forget(moved)
	}
	if err != nil {
		return state, err
	}
	err = tx.x.scan(sessionUpsertSQL, func(s *sqlite3.Stmt) {
		state = State{s.ColumnInt64(0), s.ColumnInt(1), s.ColumnText(2), s.ColumnText(3)}
	}, s.Harness, s.ID, project, s.Directory, s.Source)
	return state, err
}

// ProjectOf returns the project of a session, or "" if the session is not in the index.
func (tx *Tx) ProjectOf(harness, session string) (identity string, err error) {
	err = tx.x.scan(`SELECT p.identity FROM sessions s JOIN projects p ON p.id = s.project WHERE s.harness = ? AND s.session = ?`,
		func(s *sqlite3.Stmt) { identity = s.ColumnText(0) }, harness, session)
	return identity, err
}

func (tx *Tx) project(identity string) (row int64, err error) {
	if row, ok := tx.x.projects[identity]; ok {
		return row, nil
	}
	err = tx.x.scan(`INSERT INTO projects (identity) VALUES (?) ON CONFLICT DO UPDATE SET identity = excluded.identity RETURNING id`,
		func(s *sqlite3.Stmt) { row = s.ColumnInt64(0) }, identity)
	if err == nil {
		tx.x.projects[identity] = row
	}
	return row, err
}

// Read records that a session was read up to a message.
func (tx *Tx) Read(session int64, through int, tail string) error {
	return tx.x.scan(`UPDATE sessions SET through = ?, tail = ?, stamp = '' WHERE id = ?`, nil, through, tail, session)
}

// Finish records that a session was read to its end. `stamp` is the state of the session's source at that time.
func (tx *Tx) Finish(session int64, stamp string) error {
	return tx.x.scan(`UPDATE sessions SET stamp = ? WHERE id = ?`, nil, stamp, session)
}

// Put replaces all chunks of a message. A file has only one chunk for all its reads in a session, and one for all its
// writes. Put moves this chunk to the newest message that reads or writes the file.
func (tx *Tx) Put(session int64, project string, m Message) error {
	isSame, err := tx.replace(session, &m)
	if err != nil || isSame {
		return err
	}
	for i := range m.Chunks {
		c := &m.Chunks[i]
		if c.Kind == Read || c.Kind == Write {
			isThere, err := tx.touch(session, c, &m)
			if err != nil {
				return err
			}
			if isThere {
				continue
			}
		}
		if err := tx.insert(session, project, &m, c); err != nil {
			return err
		}
	}
	return nil
}

// touch updates the session's chunk for the file. isThere is false if there is no such chunk yet.
func (tx *Tx) touch(session int64, c *Chunk, m *Message) (isThere bool, err error) {
	err = tx.x.scan(`
		UPDATE chunks
		SET message = CASE WHEN ?4 >= first THEN ?3 ELSE message END, hash = CASE WHEN ?4 >= first THEN ?6 ELSE hash END,
			at = CASE WHEN ?4 >= first THEN ?5 ELSE at END, first = max(first, ?4), last = max(last, ?4)
		WHERE session = ?1 AND kind = ?7 AND (kind = 'read' OR kind = 'write') AND subject = ?2
		RETURNING 1`, func(*sqlite3.Stmt) { isThere = true },
		session, c.Subject, m.Key, m.Ordinal, m.At, m.Hash, string(c.Kind))
	return isThere, err
}

func (tx *Tx) insert(session int64, project string, m *Message, c *Chunk) error {
	err := tx.x.scan(chunkInsertSQL, nil, session, m.Key, m.Hash, string(c.Kind), string(c.Role), m.Ordinal, m.Ordinal, m.At,
		c.Subject, c.Status, c.Text, c.Context)
	if err != nil {
		return err
	}
	row := tx.x.conn.LastInsertRowID()
	number, err := tx.project(project)
	if err != nil {
		return err
	}
	clear(tx.seen)
	tx.text = strconv.AppendInt(append(tx.text[:0], '#'), number, 10)
	tx.addTerms(c.Text)
	tx.addTerms(c.Context)
	return tx.x.scan(`INSERT INTO terms (rowid, words) VALUES (?, ?)`, nil, row, string(tx.text))
}

// addTerms adds those terms of a text that the chunk does not have yet.
func (tx *Tx) addTerms(text string) {
	terms.Each(text, func(term []byte, _ int) {
		if !tx.seen[string(term)] {
			tx.seen[string(term)] = true
			tx.text = append(append(tx.text, ' '), term...)
		}
	})
}

// replace deletes the stored chunks of a message. If the stored message is the same, isSame is true and the chunks
// stay.
func (tx *Tx) replace(session int64, m *Message) (isSame bool, err error) {
	var rows []int64
	isSame = len(m.Chunks) > 0
	err = tx.x.scan(`SELECT id, hash, last FROM chunks WHERE session = ? AND message = ?`, func(s *sqlite3.Stmt) {
		rows = append(rows, s.ColumnInt64(0))
		isSame = isSame && s.ColumnInt64(1) == m.Hash && s.ColumnInt(2) == m.Ordinal
	}, session, m.Key)
	if err != nil || isSame && len(rows) == len(m.Chunks) {
		return true, err
	}
	for _, row := range rows {
		if err == nil {
			err = errors.Join(tx.x.scan(`DELETE FROM terms WHERE rowid = ?`, nil, row), tx.x.scan(`DELETE FROM chunks WHERE id = ?`, nil, row))
		}
	}
	return false, err
}

// Clear deletes the chunks of a session, so that the session is read again.
func (tx *Tx) Clear(session int64) error {
	return errors.Join(
		tx.x.scan(`DELETE FROM terms WHERE rowid IN (SELECT id FROM chunks WHERE session = ?)`, nil, session),
		tx.x.scan(`DELETE FROM chunks WHERE session = ?`, nil, session),
		tx.Read(session, 0, ""))
}

func (tx *Tx) Forget(session int64) error {
	return errors.Join(tx.Clear(session), tx.x.scan(`DELETE FROM sessions WHERE id = ?`, nil, session))
}

// SessionsIn returns the rows of all sessions that were read from a file. The keys are the ids of the sessions.
func (tx *Tx) SessionsIn(source string) (map[string]int64, error) {
	all := map[string]int64{}
	err := tx.x.scan(`SELECT session, id FROM sessions WHERE source = ?`, func(s *sqlite3.Stmt) {
		all[s.ColumnText(0)] = s.ColumnInt64(1)
	}, source)
	return all, err
}
