package store

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

	"github.com/magicctx/magicctx-host/store/file"
)

// Memories are the memories of projects, and the log of their changes.
type Memories struct{ *db }

// A MemoryRow is something that is known about a project, for example "tests run
// with go test ./...". All sessions and harnesses share it.
type MemoryRow struct {
	ID         int64  // the store never gives an id twice
	Project    string // identity
	Directory  string // of the session that learned it last, for people
	Category   string // for example "NAMING"; the store does not restrict the names
	Content    string
	Importance int    // 1 to 100
	Source     string // "historian", "agent", "dreamer" or "user"
	LearnedIn  Key    // the session
	Status     string // "active", "permanent" or "archived"
	// SupersededBy is the memory that replaced an archived one, or 0.
	SupersededBy int64
	// SeenCount is how often the same content was learned, and SeenAt the time of the last one. Learning the
	// content again changes only these fields and ExpiresAt.
	SeenCount int
	SeenAt    int64
	CreatedAt int64
	UpdatedAt int64
	ExpiresAt int64 // 0 for never; all times are in Unix ms
}

// A FactRow is a fact about the project that the historian has learned.
type FactRow struct {
	Category   string
	Content    string
	Importance int   // 0 for 50
	ExpiresAt  int64 // Unix ms, 0 for never
}

// ProjectMemories are the memories that a head may show. MemoryID and ChangeID are the newest memory of the
// project, and the newest change of one. They are 0 if there is none.
type ProjectMemories struct {
	Memories           []MemoryRow // in order of their ids
	MemoryID, ChangeID int64
}

// The kinds of a MemoryChange.
const (
	MemoryUpdate    = "update"
	MemoryArchive   = "archive"
	MemoryDelete    = "delete"
	MemorySupersede = "supersede"
)

// A MemoryChange is a change of a stored memory.
type MemoryChange struct {
	ID           int64 // in the order of the changes; written by the store
	Project      string
	Kind         string
	Memory       int64
	SupersededBy int64  // for MemorySupersede
	Category     string // for MemoryUpdate
	Content      string // for MemoryUpdate
	At           int64  // Unix ms; written by the store
}

var (
	// ErrUnknownMemory means that the project has no memory with this id.
	ErrUnknownMemory = errors.New("the project has no such memory")
	// ErrSameMemory means that another memory already has this content. The caller should archive one of the
	// two instead.
	ErrSameMemory = errors.New("another memory of the project has this content")
)

// MemoryHash returns the hash by which the store finds equal contents. It is the MD5, in hex, of the content
// in lower case, with each run of white space replaced by one space and none at the ends. It is not for
// security. The TypeScript plugin uses the same hash, so that its memories can be imported.
func MemoryHash(content string) string {
	sum := md5.Sum([]byte(strings.Join(strings.Fields(strings.ToLower(content)), " ")))
	return hex.EncodeToString(sum[:])
}

//go:embed query/memory_learn.sql
var memoryLearnSQL string

//go:embed query/memory_select.sql
var memorySelectSQL string

//go:embed query/memory_trim.sql
var memoryTrimSQL string

// maxMemories bounds how many facts of one project the historian's runs can store. The head has room for
// about a hundred.
const maxMemories = 1_000

// promoteFacts turns the facts of a publication into memories of its project. If a memory with the same
// content exists, promoteFacts counts it as seen again, and its status stays. It leaves out facts without
// content. If there are more than maxMemories, it removes the ones that were not seen for the longest time.
func promoteFacts(tx *transaction, p Publication, now int64) error {
	if len(p.Facts) > 0 && p.Project == "" {
		return errors.New("its facts belong to no project")
	}
	for i, f := range p.Facts {
		content := strings.TrimSpace(f.Content)
		if content == "" {
			continue
		}
		if f.Importance == 0 {
			f.Importance = 50
		}
		_, err := tx.exec(memoryLearnSQL, p.Project, f.Category, content, MemoryHash(content), clampImportance(f.Importance),
			"historian", p.Key.Harness, p.Key.Session, now, f.ExpiresAt)
		if err != nil {
			return fmt.Errorf("fact %d: %w", i, err)
		}
	}
	if len(p.Facts) == 0 {
		return nil
	}
	_, err := tx.exec(memoryTrimSQL, p.Project, maxMemories)
	return err
}

// Of returns the memories of a project that, at the time at (Unix ms), are neither archived nor
// expired.
func (s *Memories) Of(ctx context.Context, project string, at int64) (m ProjectMemories, err error) {
	err = s.view(ctx, func(c *sqlite3.Conn) error {
		err := scan(c, `
			SELECT
				coalesce((SELECT max(id) FROM memories WHERE project = ?1), 0),
				coalesce((SELECT max(id) FROM memory_changes WHERE project = ?1), 0)`,
			func(row *sqlite3.Stmt) { m.MemoryID, m.ChangeID = row.ColumnInt64(0), row.ColumnInt64(1) }, project)
		if err != nil {
			return err
		}
		return scan(c, memorySelectSQL, func(row *sqlite3.Stmt) { m.Memories = append(m.Memories, readMemory(row)) }, project, at)
	})
	if err != nil {
		return ProjectMemories{}, fmt.Errorf("read memories of project %s: %w", project, err)
	}
	return m, nil
}

func readMemory(s *sqlite3.Stmt) MemoryRow {
	return MemoryRow{
		ID: s.ColumnInt64(0), Project: s.ColumnText(1), Category: s.ColumnText(2), Content: s.ColumnText(3),
		Importance: s.ColumnInt(4), Source: s.ColumnText(5), LearnedIn: Key{s.ColumnText(6), s.ColumnText(7)},
		Status: s.ColumnText(8), SupersededBy: s.ColumnInt64(9), SeenCount: count(s, 10), SeenAt: s.ColumnInt64(11),
		CreatedAt: s.ColumnInt64(12), UpdatedAt: s.ColumnInt64(13), ExpiresAt: s.ColumnInt64(14), Directory: s.ColumnText(15),
	}
}

// Change changes a memory and logs the change, in one transaction. It fails with ErrUnknownMemory if
// the memory does not exist. An update may also fail with ErrSameMemory.
func (s *Memories) Change(ctx context.Context, ch MemoryChange) error {
	err := s.update(ctx, func(tx *transaction) error {
		return changeAndLog(tx, ch, s.clock.Now())
	})
	if err != nil {
		return fmt.Errorf("%s memory %d of project %s: %w", ch.Kind, ch.Memory, ch.Project, err)
	}
	return nil
}

// ForgetMemory deletes the memory with an id from the database in dir, and logs the change. A host may have the
// database open. It fails with ErrUnknownMemory if there is no such memory. See file.Edit for the other errors.
func ForgetMemory(ctx context.Context, dir string, id, at int64) (m MemoryRow, err error) {
	err = file.Edit(ctx, dir, func(c *sqlite3.Conn) error {
		all, err := (&Browser{c}).Memories()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(m MemoryRow) bool { return m.ID == id })
		if i < 0 {
			return fmt.Errorf("%w: number %d", ErrUnknownMemory, id)
		}
		m = all[i]
		tx := &transaction{conn: c, prepared: make(statements)}
		defer tx.prepared.close(c)
		return changeAndLog(tx, MemoryChange{Project: m.Project, Kind: MemoryDelete, Memory: id}, at)
	})
	return m, err
}

func changeAndLog(tx *transaction, ch MemoryChange, now int64) error {
	changed, err := changeMemory(tx, ch, now)
	if errors.Is(err, sqlite3.CONSTRAINT_UNIQUE) {
		return ErrSameMemory
	}
	if err != nil {
		return err
	}
	if changed == 0 {
		return ErrUnknownMemory
	}
	_, err = tx.exec(`
		INSERT INTO memory_changes (project, kind, memory, superseded_by, category, content, at)
		VALUES (?, ?, ?, ?, ?, ?, ?)`, ch.Project, ch.Kind, ch.Memory, ch.SupersededBy, ch.Category, ch.Content, now)
	return err
}

func changeMemory(tx *transaction, ch MemoryChange, now int64) (changed int64, err error) {
	switch ch.Kind {
	case MemoryUpdate:
		return tx.exec(`
			UPDATE memories
			SET category = ?3, content = ?4, hash = ?5, updated_at = ?6
			WHERE project = ?1 AND id = ?2`, ch.Project, ch.Memory, ch.Category, ch.Content, MemoryHash(ch.Content), now)
	case MemoryArchive, MemorySupersede:
		return tx.exec(`
			UPDATE memories
			SET status = 'archived', superseded_by = ?3, updated_at = ?4
			WHERE project = ?1 AND id = ?2`, ch.Project, ch.Memory, ch.SupersededBy, now)
	case MemoryDelete:
		return tx.exec(`DELETE FROM memories WHERE project = ?1 AND id = ?2`, ch.Project, ch.Memory)
	}
	return 0, fmt.Errorf("unknown kind of change %q", ch.Kind)
}

// Changes returns the changes of a project's memories that follow change number after, oldest first.
func (s *Memories) Changes(ctx context.Context, project string, after int64) (changes []MemoryChange, err error) {
	err = s.view(ctx, func(c *sqlite3.Conn) error {
		return scan(c, `
			SELECT id, kind, memory, superseded_by, category, content, at
			FROM memory_changes
			WHERE project = ? AND id > ?
			ORDER BY id`,
			func(row *sqlite3.Stmt) {
				changes = append(changes, MemoryChange{
					ID: row.ColumnInt64(0), Project: project, Kind: row.ColumnText(1), Memory: row.ColumnInt64(2),
					SupersededBy: row.ColumnInt64(3), Category: row.ColumnText(4), Content: row.ColumnText(5), At: row.ColumnInt64(6),
				})
			}, project, after)
	})
	if err != nil {
		return nil, fmt.Errorf("read changes of memories of project %s: %w", project, err)
	}
	return changes, nil
}
