package store

import (
	_ "embed"
	"fmt"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/store/file"
)

// A Leaving says when content left the wire: Pass is the first pass without it. If the journal no longer has this pass,
// At is 0 and Cause is "".
type Leaving struct {
	Pass  int
	At    int64 // Unix ms
	Cause string
}

// A RemovedUnit is a unit whose content an edit has removed from the wire.
type RemovedUnit struct {
	Tag     int
	Kind    string // text, file or tool
	Tool    string
	Edit    string // the kind of the edit
	Rule    string
	Leaving Leaving
}

// A Fate says what has happened to one message on the wire.
type Fate struct {
	IsKnown bool
	// Removed are the units of the message that an edit has removed, sorted by tag.
	Removed []RemovedUnit
	// Summarised is the first pass in which a summary replaced the message, or nil.
	Summarised *Leaving
	// IsPinned means that the message is in the prompt verbatim, although a summary covers it.
	IsPinned bool
}

//go:embed query/fate_units.sql
var fateUnitsSQL string

//go:embed query/fate_summary.sql
var fateSummarySQL string

// Fate returns what has happened to a message. The message is given by its key and its ordinal.
func (b *Browser) Fate(key Key, messageKey string, ordinal int) (f Fate, err error) {
	err = file.Scan(b.conn, fateUnitsSQL, func(row *sqlite3.Stmt) {
		f.IsKnown = true
		if row.ColumnType(3) == sqlite3.NULL {
			return
		}
		f.Removed = append(f.Removed, RemovedUnit{
			Tag: row.ColumnInt(0), Kind: row.ColumnText(1), Tool: row.ColumnText(2), Edit: row.ColumnText(3), Rule: row.ColumnText(4),
			Leaving: Leaving{Pass: row.ColumnInt(5), At: row.ColumnInt64(6), Cause: row.ColumnText(7)},
		})
	}, key.Harness, key.Session, messageKey)
	if err != nil {
		return f, fmt.Errorf("units of message %s of %s: %w", messageKey, key, err)
	}
	var pinned []string
	err = file.Scan(b.conn, fateSummarySQL, func(row *sqlite3.Stmt) {
		f.Summarised = &Leaving{Pass: row.ColumnInt(1), At: row.ColumnInt64(2), Cause: row.ColumnText(3)}
		_ = json.Unmarshal(json.Value(row.ColumnText(0)), &pinned) // if the list is damaged, no message is pinned
	}, key.Harness, key.Session, ordinal)
	if err != nil {
		return f, fmt.Errorf("summary of message %d of %s: %w", ordinal, key, err)
	}
	f.IsKnown = f.IsKnown || f.Summarised != nil
	f.IsPinned = slices.Contains(pinned, messageKey)
	return f, nil
}
