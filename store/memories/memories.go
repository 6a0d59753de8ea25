package memories

import (
	"context"
	"crypto/md5"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/secret"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

type Memories struct {
	db   *database.DB
	seen atomic.Pointer[seenVersion]
	kept kept
}

func In(db *database.DB) *Memories { return &Memories{db: db} }

// OfProject holds the memories that a head may show. MemoryID is the highest id of a memory in the project and its
// workspace. ChangeID is the highest id of a change of these memories. Each is 0 if there is none.
type OfProject struct {
	Memories           []chronicle.Memory // in order of their ids
	MemoryID, ChangeID int64
}

// hash returns the same value for two contents that differ only in case and white space. It is the MD5 that the
// TypeScript plugin computes, whose memories can be imported. It is not used for security.
func hash(content string) string {
	sum := md5.Sum([]byte(strings.Join(strings.FieldsFunc(strings.ToLower(content), isSpace), " ")))
	return hex.EncodeToString(sum[:])
}

// A memory can repeat any file or web page. So textOf removes credentials, characters that hide a text or change its
// direction, and blanks at both ends.
func textOf(content string) string {
	return strings.TrimFunc(secret.Redact(format.CleanLines(content)), isSpace)
}

//go:embed query/memory_insert.sql
var memoryInsertSQL string

//go:embed query/memory_select.sql
var memorySelectSQL string

//go:embed query/visible_select.sql
var visibleSelectSQL string

//go:embed query/memory_trim.sql
var memoryTrimSQL string

// A project may have maxMemories memories from the historian, and as many again from models that call a tool. This is
// plenty, because the head shows at most about a hundred memories.
const maxMemories = 1_000

// Learn turns the facts of a session into memories of its project, and returns the number of new memories. If a memory
// with the same content already exists, Learn only counts that it was seen again; its status does not change. If the
// historian has written more than maxMemories for the project, Learn deletes those that were not seen for the longest
// time, except permanent ones.
func Learn(tx *database.Tx, project string, facts []chronicle.Fact, harness, session string, now int64) (learned int, err error) {
	if len(facts) > 0 && project == "" {
		return 0, errors.New("its facts belong to no project")
	}
	e := Editing(tx, now)
	for i, f := range facts {
		m := chronicle.Memory{
			Project: project, Category: f.Category, Content: textOf(f.Content), Source: chronicle.FromHistorian,
			Harness: harness, Session: session, Message: f.Source.Start,
		}
		if m.Content == "" {
			continue
		}
		known, err := e.withContent(m)
		switch {
		case err != nil:
		case known != nil:
			err = e.seen(known.ID, m)
		default:
			learned++
			_, err = e.insert(m)
		}
		if err != nil {
			return learned, fmt.Errorf("fact %d: %w", i, err)
		}
	}
	if len(facts) > 0 {
		_, err = tx.Exec(memoryTrimSQL, project, maxMemories)
	}
	return learned, err
}

// Of returns the memories that a project's sessions may see (Reader.Visible).
func (s *Memories) Of(ctx context.Context, project string, at int64) (m OfProject, err error) {
	if project == "" {
		return m, nil
	}
	err = s.db.View(ctx, func(c *sqlite3.Conn) error {
		err := file.Scan(c, `
			SELECT
				coalesce((SELECT max(id) FROM memories WHERE project IN (SELECT ?1 UNION `+othersSQL+`)), 0),
				coalesce((SELECT max(id) FROM memory_changes WHERE project IN (SELECT ?1 UNION `+othersSQL+`)), 0)`,
			func(row *sqlite3.Stmt) { m.MemoryID, m.ChangeID = row.ColumnInt64(0), row.ColumnInt64(1) }, project)
		if err != nil {
			return err
		}
		m.Memories, err = readerOf(c).Visible(project, at)
		return err
	})
	if err != nil {
		return OfProject{}, fmt.Errorf("read memories of project %s: %w", project, err)
	}
	return m, nil
}

// Doubt stores the results of checks: for each memory, the reason why its test failed, or "" if it passed.
func (s *Memories) Doubt(ctx context.Context, reasons map[chronicle.Memory]string, now int64) error {
	return s.db.Update(ctx, func(tx *database.Tx) (err error) {
		e := Editor{tx: tx, now: now}
		for m, reason := range reasons {
			err = errors.Join(err, e.Doubt(m.ID, m.Check, reason))
		}
		return err
	})
}

const othersSQL = `
	SELECT other.project
	FROM workspace_members AS me JOIN workspace_members AS other USING (workspace)
	WHERE me.project = ?1 AND other.project <> ?1`

// Version returns a number that grows with each change of a memory. It does not ask the database on each pass: after
// each write, SQLite would have to read its pages again, which takes about 5 % of a pass. So if another process changes
// a memory, Version may notice this up to a second late.
func (s *Memories) Version(ctx context.Context) (int64, error) {
	now := seenVersion{moment: s.now()}
	if seen := s.seen.Load(); seen != nil && seen.moment == now.moment {
		return seen.version, nil
	}
	err := s.db.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, `SELECT coalesce(sum(seq), 0) FROM sqlite_sequence WHERE name = 'memories' OR name = 'memory_changes'`,
			func(row *sqlite3.Stmt) { now.version = row.ColumnInt64(0) })
	})
	if err != nil {
		return 0, err
	}
	s.seen.Store(&now)
	return now.version, nil
}

type seenVersion struct {
	version int64
	moment
}

// OpenNotes returns the number of open notes of a session and its project. Promises are not counted.
func (s *Memories) OpenNotes(ctx context.Context, harness, session, project string) (n int, err error) {
	err = s.db.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, `
			SELECT count(*) FROM notes
			WHERE status NOT IN ('done', 'dismissed') AND said_by = '' AND (harness = ?1 AND session_id = ?2 OR session_id IS NULL AND project = ?3)`,
			func(row *sqlite3.Stmt) { n = row.ColumnInt(0) }, harness, session, project)
	})
	return n, err
}

// Counts returns the numbers of visible memories (Reader.Visible) and of open notes of a session and its project.
func (s *Memories) Counts(ctx context.Context, harness, session, project string, at int64) (memories, notes int, err error) {
	if notes, err = s.OpenNotes(ctx, harness, session, project); err != nil || project == "" {
		return 0, notes, err
	}
	err = s.db.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, `SELECT count(*) FROM (`+visibleSelectSQL+`)`, func(row *sqlite3.Stmt) { memories = row.ColumnInt(0) }, project, at)
	})
	return memories, notes, err
}

func readMemory(s *sqlite3.Stmt) chronicle.Memory {
	m := chronicle.Memory{
		ID: s.ColumnInt64(0), Project: s.ColumnText(1), Category: s.ColumnText(2), Content: s.ColumnText(3), Importance: s.ColumnInt(4),
		Source: chronicle.Source(s.ColumnText(5)), Harness: s.ColumnText(6), Session: s.ColumnText(7), Message: database.Count(s, 8),
		Status: chronicle.MemoryStatus(s.ColumnText(9)), SupersededBy: s.ColumnInt64(10), Seen: database.Count(s, 11),
		SeenAt: s.ColumnInt64(12), CreatedAt: s.ColumnInt64(13), UpdatedAt: s.ColumnInt64(14), ExpiresAt: s.ColumnInt64(15), Directory: s.ColumnText(16), SharedBy: s.ColumnText(17),
		Check: s.ColumnText(18), Doubt: s.ColumnText(19),
	}
	if m.Status == permanent {
		m.Status, m.Permanent = chronicle.MemoryIsActive, true
	}
	return m
}

const permanent = "permanent"

// View opens the database in dir for reading, and calls `read` with a Reader of it. This works even while a host has
// the database open.
func View(ctx context.Context, dir string, read func(*Reader) error) error {
	return file.View(ctx, dir, func(c *sqlite3.Conn) error {
		return read(readerOf(c))
	})
}

func readerOf(c *sqlite3.Conn) *Reader {
	return &Reader{func(query string, row func(*sqlite3.Stmt), args ...any) error {
		return file.Scan(c, query, row, args...)
	}}
}

// Edit opens the database in dir, and calls `change` within one transaction. This works even while a host has the
// database open. now is in Unix ms. See file.Edit for the errors.
func Edit(ctx context.Context, dir string, now int64, change func(*Editor) error) error {
	return database.Edit(ctx, dir, func(tx *database.Tx) error { return change(Editing(tx, now)) })
}

//go:embed query/change_select.sql
var changesSQL string

// Changes returns the changes of all memories that a project's sessions see or have seen. It returns only changes with
// ids greater than the argument `after`, oldest first.
func (s *Memories) Changes(ctx context.Context, project string, after int64) (changes []chronicle.MemoryChange, err error) {
	err = s.db.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, changesSQL, func(row *sqlite3.Stmt) {
			change := readChange(row)
			change.Source = chronicle.Source(row.ColumnText(8))
			changes = append(changes, change)
		}, project, after)
	})
	if err != nil {
		return nil, fmt.Errorf("read changes of memories of project %s: %w", project, err)
	}
	return changes, nil
}

const changeSQL = `SELECT id, project, kind, memory, superseded_by, category, content, at FROM memory_changes`

func readChange(row *sqlite3.Stmt) chronicle.MemoryChange {
	return chronicle.MemoryChange{
		ID: row.ColumnInt64(0), Project: row.ColumnText(1), Kind: chronicle.ChangeKind(row.ColumnText(2)), Memory: row.ColumnInt64(3),
		SupersededBy: row.ColumnInt64(4), Category: row.ColumnText(5), Content: row.ColumnText(6), At: row.ColumnInt64(7),
	}
}

// ForgetChanges deletes the changes that were made before the given time (Unix ms), if every stored head already shows
// them.
func (s *Memories) ForgetChanges(ctx context.Context, before int64) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error {
		_, err := tx.Exec(`
			DELETE FROM memory_changes
			WHERE at < ?1 AND id <= coalesce((SELECT min(change_id) FROM heads), id)`, before)
		return err
	})
	if err != nil {
		return fmt.Errorf("forget changes of memories: %w", err)
	}
	return nil
}
