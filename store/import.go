package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
	"github.com/magicctx/magicctx-host/store/memories"
)

// An Import stores rows of another program in one transaction.
type Import struct {
	*memories.Editor
	tx  *database.Tx
	now int64
}

// errRehearsed rolls a rehearsal back.
var errRehearsed = errors.New("rehearsed")

// RunImport calls `do` in one transaction on the database in `dir`, which a host may have open. If isRehearsal is true,
// the changes are rolled back. See file.Edit for the errors.
func RunImport(ctx context.Context, dir string, now int64, isRehearsal bool, do func(*Import) error) error {
	err := database.Edit(ctx, dir, func(tx *database.Tx) error {
		err := do(&Import{memories.Editing(tx, now), tx, now})
		if err == nil && isRehearsal {
			err = errRehearsed
		}
		return err
	})
	if errors.Is(err, errRehearsed) {
		return nil
	}
	return err
}

// WasTaken reports whether a row was imported before. The texts in `name` identify the row.
func (i *Import) WasTaken(name ...string) (bool, error) {
	return i.tx.Exists(`SELECT 1 FROM imported WHERE hash = ?`, hashOf(name))
}

// NoteTaken records that a row was imported.
func (i *Import) NoteTaken(name ...string) error {
	_, err := i.tx.Exec(`INSERT INTO imported (hash) VALUES (?)`, hashOf(name))
	return err
}

func hashOf(name []string) string {
	hash := sha256.Sum256([]byte(strings.Join(name, "\x00")))
	return hex.EncodeToString(hash[:])
}

// HasImported reports whether any row was ever imported.
func (b *Browser) HasImported() (has bool, err error) {
	err = file.Scan(b.conn, `SELECT 1 FROM imported LIMIT 1`, func(*sqlite3.Stmt) { has = true })
	return has, err
}

// Session stores a session that is not stored yet.
func (i *Import) Session(key Key, directory string) error {
	_, err := i.tx.Exec(`INSERT OR IGNORE INTO sessions (harness, session_id, directory, updated_at) VALUES (?, ?, ?, ?)`,
		key.Harness, key.Session, directory, i.now)
	return err
}

// If the session already has compartments, no compartments are stored.
func (i *Import) Compartments(key Key, rows []chronicle.Compartment) (isTaken bool, err error) {
	end, err := readHistoryEnd(i.tx.Scan, key)
	if err != nil || end.Ordinal > 1 {
		return false, err
	}
	if err := ensureHistory(i.tx, key); err != nil {
		return false, err
	}
	return true, insertCompartments(i.tx, publishedTable, key, end, rows, i.now)
}
