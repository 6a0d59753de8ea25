package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// An Inheritance is the state that a fork takes over from its original. The fork's units and edits are in PassCommit.
type Inheritance struct {
	Queued []DropRow
	System SystemState
	// Head and Compartments end with the message at which the fork was made. They use the keys of the fork's messages.
	Head         *HeadRow
	Compartments []chronicle.Compartment
}

// All forks of a session begin with the same messages, so each of them could be the original of a new fork. Only the
// maxOriginals sessions with the most recent passes are examined.
const maxOriginals = 8

//go:embed query/originals.sql
var originalsSQL string

// Originals returns the sessions of the directory that may be the original of the session `copied`, because they have a
// unit with this fingerprint. If a session of another harness has the id of `copied`, it comes first, because OpenCode
// 2 continues the sessions of version 1 under their ids. The other sessions follow, beginning with the one that had the
// most recent pass.
func (s *Store) Originals(ctx context.Context, copied Key, directory string, fingerprint int64) ([]Key, error) {
	var keys []Key
	err := s.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, originalsSQL, func(row *sqlite3.Stmt) { keys = append(keys, Key{row.ColumnText(0), row.ColumnText(1)}) },
			copied.Harness, copied.Session, directory, fingerprint, maxOriginals)
	})
	if err != nil {
		return nil, fmt.Errorf("find the original of %s: %w", copied, err)
	}
	return keys, nil
}

func inherit(tx *database.Tx, key Key, from *Inheritance, now int64) error {
	if from == nil {
		return nil
	}
	if err := insertDrops(tx, key, from.Queued); err != nil {
		return fmt.Errorf("inherited drop: %w", err)
	}
	if err := saveSystem(tx, key, from.System, now); err != nil {
		return fmt.Errorf("inherited system prompt: %w", err)
	}
	return inheritHistory(tx, key, from, now)
}

// inheritHistory stores the compartments and the head that the fork takes over. The compartments get generation 0, and
// so does the head. If the head has to be folded again, it gets generation -1 instead: Load sees the difference, and
// sets Refold.
func inheritHistory(tx *database.Tx, key Key, from *Inheritance, now int64) error {
	if from.Head == nil && len(from.Compartments) == 0 {
		return nil
	}
	if err := ensureHistory(tx, key); err != nil {
		return fmt.Errorf("inherited history: %w", err)
	}
	first := HistoryEnd{Ordinal: 1}
	if err := insertCompartments(tx, publishedTable, key, first, from.Compartments, now); err != nil {
		return fmt.Errorf("inherited history: %w", err)
	}
	if from.Head == nil {
		return nil
	}
	head := *from.Head
	head.Generation = 0
	if head.Refold {
		head.Generation = -1
	}
	return upsertHead(tx, key, &head)
}

const unitStampSQL = `
	UPDATE units SET fingerprint = ?4
	WHERE harness = ?1 AND session_id = ?2 AND tag = ?3`

// stamped holds the new fingerprints by tag.
func stampUnits(tx *database.Tx, key Key, stamped map[int]int64) error {
	for tag, fingerprint := range stamped {
		if _, err := tx.Exec(unitStampSQL, key.Harness, key.Session, tag, fingerprint); err != nil {
			return fmt.Errorf("fingerprint of unit %d: %w", tag, err)
		}
	}
	return nil
}
