package memories

import (
	"context"
	"crypto/md5"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// Memories are the memories of projects, and the log of their changes.
type Memories struct{ db *database.DB }

// In returns the memories in a database.
func In(db *database.DB) *Memories { return &Memories{db} }

// OfProject are the memories that a head may show. MemoryID is the id of the project's newest memory, and
// ChangeID is the id of the newest change of a memory. They are 0 if there is none.
type OfProject struct {
	Memories           []chronicle.Memory // in order of their ids
	MemoryID, ChangeID int64
}

var (
	// ErrUnknown means that the project has no memory with this id.
	ErrUnknown = errors.New("the project has no such memory")
	// ErrSame means that another memory already has this content. The caller should archive one of the
	// two instead.
	ErrSame = errors.New("another memory of the project has this content")
)

// hash returns the hash by which the store finds equal contents. It turns the content to lower case, replaces
// each run of white space with one space, and removes white space at the ends. The hash is the MD5 of the
// result, in hex. It is not for security. The TypeScript plugin uses the same hash, so that its memories can be
// imported.
func hash(content string) string {
	sum := md5.Sum([]byte(strings.Join(strings.Fields(strings.ToLower(content)), " ")))
	return hex.EncodeToString(sum[:])
}

//go:embed query/memory_learn.sql
var memoryLearnSQL string

//go:embed query/memory_select.sql
var memorySelectSQL string

//go:embed query/memory_trim.sql
var memoryTrimSQL string

// maxMemories bounds the facts of one project that the historian's runs can store. The head shows about a
// hundred at most.
const maxMemories = 1_000

// Learn turns the facts of a session into memories of its project. If a memory with the same content exists, Learn
// counts it as seen again, and its status stays. It leaves out facts without content. If the project then has more
// than maxMemories, it removes those that were not seen for the longest time.
func Learn(tx *database.Tx, project string, facts []chronicle.Fact, harness, session string, now int64) error {
	if len(facts) > 0 && project == "" {
		return errors.New("its facts belong to no project")
	}
	for i, f := range facts {
		content := strings.TrimSpace(f.Content)
		if content == "" {
			continue
		}
		_, err := tx.Exec(memoryLearnSQL, project, f.Category, content, hash(content), "historian", harness, session, now)
		if err != nil {
			return fmt.Errorf("fact %d: %w", i, err)
		}
	}
	if len(facts) == 0 {
		return nil
	}
	_, err := tx.Exec(memoryTrimSQL, project, maxMemories)
	return err
}

// Of returns the memories of a project that are not archived and have not expired at a given time (at, in
// Unix ms).
func (s *Memories) Of(ctx context.Context, project string, at int64) (m OfProject, err error) {
	err = s.db.View(ctx, func(c *sqlite3.Conn) error {
		err := file.Scan(c, `
			SELECT
				coalesce((SELECT max(id) FROM memories WHERE project = ?1), 0),
				coalesce((SELECT max(id) FROM memory_changes WHERE project = ?1), 0)`,
			func(row *sqlite3.Stmt) { m.MemoryID, m.ChangeID = row.ColumnInt64(0), row.ColumnInt64(1) }, project)
		if err != nil {
			return err
		}
		return file.Scan(c, memorySelectSQL, func(row *sqlite3.Stmt) { m.Memories = append(m.Memories, readMemory(row)) }, project, at)
	})
	if err != nil {
		return OfProject{}, fmt.Errorf("read memories of project %s: %w", project, err)
	}
	return m, nil
}

func readMemory(s *sqlite3.Stmt) chronicle.Memory {
	return chronicle.Memory{
		ID: s.ColumnInt64(0), Project: s.ColumnText(1), Category: s.ColumnText(2), Content: s.ColumnText(3), Importance: s.ColumnInt(4),
		Source: s.ColumnText(5), Harness: s.ColumnText(6), Session: s.ColumnText(7), Permanent: s.ColumnBool(8), ExpiresAt: s.ColumnInt64(9),
		Directory: s.ColumnText(10), SeenAt: s.ColumnInt64(11),
	}
}

// Change changes a memory and logs the change, in one transaction. It fails with ErrUnknown if
// the memory does not exist. An update may also fail with ErrSame.
func (s *Memories) Change(ctx context.Context, ch chronicle.MemoryChange) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error {
		return changeAndLog(tx, ch, s.db.Clock.Now())
	})
	if err != nil {
		return fmt.Errorf("%s memory %d of project %s: %w", ch.Kind, ch.Memory, ch.Project, err)
	}
	return nil
}

//go:embed query/memory_list.sql
var memoryListSQL string

// All returns the memories of all projects that are not archived, by project and id, from the database in dir. A
// host may have the database open. See file.View for the errors.
func All(ctx context.Context, dir string) (all []chronicle.Memory, err error) {
	err = file.View(ctx, dir, func(c *sqlite3.Conn) error {
		all, err = list(c)
		return err
	})
	return all, err
}

func list(c *sqlite3.Conn) (all []chronicle.Memory, err error) {
	err = file.Scan(c, memoryListSQL, func(row *sqlite3.Stmt) { all = append(all, readMemory(row)) })
	if err != nil {
		return nil, fmt.Errorf("list memories: %w", err)
	}
	return all, nil
}

// Forget deletes the memory with an id from the database in dir, and logs the change. A host may have the
// database open. It fails with ErrUnknown if there is no such memory. See file.Edit for the other errors.
func Forget(ctx context.Context, dir string, id, at int64) (m chronicle.Memory, err error) {
	err = database.Edit(ctx, dir, func(tx *database.Tx) error {
		all, err := list(tx.Conn)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(m chronicle.Memory) bool { return m.ID == id })
		if i < 0 {
			return fmt.Errorf("%w: number %d", ErrUnknown, id)
		}
		m = all[i]
		return changeAndLog(tx, chronicle.MemoryChange{Project: m.Project, Kind: chronicle.MemoryDeleted, Memory: id}, at)
	})
	return m, err
}

func changeAndLog(tx *database.Tx, ch chronicle.MemoryChange, now int64) error {
	changed, err := changeMemory(tx, ch, now)
	if errors.Is(err, sqlite3.CONSTRAINT_UNIQUE) {
		return ErrSame
	}
	if err != nil {
		return err
	}
	if changed == 0 {
		return ErrUnknown
	}
	_, err = tx.Exec(`
		INSERT INTO memory_changes (project, kind, memory, superseded_by, category, content, at)
		VALUES (?, ?, ?, ?, ?, ?, ?)`, ch.Project, string(ch.Kind), ch.Memory, ch.SupersededBy, ch.Category, ch.Content, now)
	return err
}

func changeMemory(tx *database.Tx, ch chronicle.MemoryChange, now int64) (changed int64, err error) {
	switch ch.Kind {
	case chronicle.MemoryUpdated:
		return tx.Exec(`
			UPDATE memories
			SET category = ?3, content = ?4, hash = ?5, updated_at = ?6
			WHERE project = ?1 AND id = ?2`, ch.Project, ch.Memory, ch.Category, ch.Content, hash(ch.Content), now)
	case chronicle.MemoryArchived, chronicle.MemorySuperseded:
		return tx.Exec(`
			UPDATE memories
			SET status = 'archived', superseded_by = ?3, updated_at = ?4
			WHERE project = ?1 AND id = ?2`, ch.Project, ch.Memory, ch.SupersededBy, now)
	case chronicle.MemoryDeleted:
		return tx.Exec(`DELETE FROM memories WHERE project = ?1 AND id = ?2`, ch.Project, ch.Memory)
	}
	return 0, fmt.Errorf("unknown kind of change %q", ch.Kind)
}

// Changes returns the changes of a project's memories whose ids are greater than after, oldest first.
func (s *Memories) Changes(ctx context.Context, project string, after int64) (changes []chronicle.MemoryChange, err error) {
	err = s.db.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, `
			SELECT id, kind, memory, superseded_by, category, content
			FROM memory_changes
			WHERE project = ? AND id > ?
			ORDER BY id`,
			func(row *sqlite3.Stmt) {
				changes = append(changes, chronicle.MemoryChange{
					ID: row.ColumnInt64(0), Project: project, Kind: chronicle.ChangeKind(row.ColumnText(1)), Memory: row.ColumnInt64(2),
					SupersededBy: row.ColumnInt64(3), Category: row.ColumnText(4), Content: row.ColumnText(5),
				})
			}, project, after)
	})
	if err != nil {
		return nil, fmt.Errorf("read changes of memories of project %s: %w", project, err)
	}
	return changes, nil
}

// ForgetChanges deletes the changes of memories that are older than a given time (before, in Unix ms) and
// that every stored head already shows.
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
