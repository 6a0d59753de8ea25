package pieces

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// ErrUnknown says that the database has no unit with the given tag.
var ErrUnknown = errors.New("the piece is not stored yet")

type Pieces struct{ DB *database.DB }

//go:embed query/edits_delete.sql
var editsDeleteSQL string

//go:embed query/kept_select.sql
var keptSelectSQL string

const (
	keepSQL = `UPDATE units SET kept = ?4 WHERE harness = ?1 AND session_id = ?2 AND tag = ?3`
	dropSQL = `DELETE FROM queued_drops WHERE harness = ?1 AND session_id = ?2 AND tag = ?3`
)

// Keep records that the user has kept these units since the time `since` (Unix ms). If `since` is 0, the user no longer
// keeps them. Queued drops of kept units are deleted.
func (p Pieces) Keep(ctx context.Context, harness, session string, tags []int, since int64) error {
	err := p.DB.Update(ctx, func(tx *database.Tx) error {
		for _, tag := range tags {
			n, err := tx.Exec(keepSQL, harness, session, tag, since)
			if err == nil && n == 0 {
				err = ErrUnknown
			}
			if err == nil && since != 0 {
				_, err = tx.Exec(dropSQL, harness, session, tag)
			}
			if err != nil {
				return fmt.Errorf("unit %d: %w", tag, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("keep pieces of %s/%s: %w", harness, session, err)
	}
	return nil
}

// A Kept is a unit that the user keeps.
type Kept struct {
	Tag                 int
	Kind, Tool          string
	Tokens, InputTokens int
	UnitKey, MessageKey string
	// IsTaken means that an edit has replaced its content.
	IsTaken bool
}

// Kept returns the units of a session that the user keeps, in the order in which the user asked to keep them.
func (p Pieces) Kept(ctx context.Context, harness, session string) (all []Kept, err error) {
	err = p.DB.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, keptSelectSQL, func(row *sqlite3.Stmt) {
			all = append(all, Kept{
				Tag: row.ColumnInt(0), Kind: row.ColumnText(1), Tool: row.ColumnText(2), Tokens: row.ColumnInt(3), InputTokens: row.ColumnInt(4),
				UnitKey: row.ColumnText(5), MessageKey: row.ColumnText(6), IsTaken: row.ColumnBool(7),
			})
		}, harness, session)
	})
	if err != nil {
		return nil, fmt.Errorf("read kept pieces of %s/%s: %w", harness, session, err)
	}
	return all, nil
}

// Commit deletes the edits of the restored units, so that their content comes back. It records that the released units
// are no longer kept. It is a part of the transaction that stores a pass.
func Commit(tx *database.Tx, harness, session string, restored, released []int) error {
	for _, tag := range restored {
		if _, err := tx.Exec(editsDeleteSQL, harness, session, tag); err != nil {
			return fmt.Errorf("restore unit %d: %w", tag, err)
		}
	}
	for _, tag := range released {
		if _, err := tx.Exec(keepSQL, harness, session, tag, 0); err != nil {
			return fmt.Errorf("release unit %d: %w", tag, err)
		}
	}
	return nil
}
