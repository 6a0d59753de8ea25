package store

import (
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// A HeadRow is the stored head of a session: the texts of its messages, and the state from which they were made.
type HeadRow struct {
	Epoch int
	// Generation is the HistoryEnd.Generation at which the head was made from its compartments. Refold means that these
	// compartments have been replaced or removed since. Only Load sets Refold.
	Generation int
	Refold     bool
	// ThroughKey and ThroughOrdinal identify the last covered message. If none is covered, ThroughOrdinal is 0.
	ThroughKey     string
	ThroughOrdinal int
	// AfterSummary is chronicle.Compartment.AfterSummary of the newest covered compartment.
	AfterSummary string
	// Pinned holds the keys of covered prompts that stay on the wire, as a JSON array.
	Pinned                           string
	Baseline, Acknowledgement, Delta string
	// BaselineSeq and DeltaSeq are the numbers of the newest compartments in the baseline and in the delta, or -1 if
	// there is none.
	BaselineSeq, DeltaSeq       int
	BaselineTokens, DeltaTokens int
	Sections                    string // tokens of the sections, a JSON object
	// Memories are the ids of the memories in the baseline, as a JSON array. MemoryID and ChangeID are
	// ProjectMemories.MemoryID and ChangeID at the time of the fold.
	Memories           string
	MemoryID, ChangeID int64
	// FoldedPass is the pass that made the baseline, and FoldReason says why. Only a write with a FoldReason changes
	// the stored values of the fold.
	FoldedPass int
	FoldedAt   int64 // Unix ms; this time, and not the clock, decides whether a memory has expired
	FoldReason string
	DocsHash   string
	KeyFiles   string // in the baseline, a line "HASH PATH" for each
}

//go:embed query/head_upsert.sql
var headUpsertSQL string

//go:embed query/head_select.sql
var headSelectSQL string

func upsertHead(tx *database.Tx, key Key, h *HeadRow) error {
	if h == nil {
		return nil
	}
	_, err := tx.Exec(headUpsertSQL, key.Harness, key.Session, h.Epoch, h.Generation, h.ThroughKey, h.ThroughOrdinal, h.AfterSummary, h.Pinned,
		h.Baseline, h.Acknowledgement, h.Delta, h.BaselineSeq, h.DeltaSeq, h.BaselineTokens, h.DeltaTokens,
		h.Sections, h.Memories, h.MemoryID, h.ChangeID, h.FoldedPass, h.FoldedAt, h.FoldReason, h.DocsHash, h.KeyFiles)
	if err != nil {
		return fmt.Errorf("head: %w", err)
	}
	return nil
}

func readHead(c *sqlite3.Conn, key Key) (head *HeadRow, err error) {
	err = file.Scan(c, headSelectSQL, func(s *sqlite3.Stmt) {
		head = &HeadRow{
			Epoch: database.Count(s, 0), Generation: s.ColumnInt(1), Refold: s.ColumnBool(2),
			ThroughKey: s.ColumnText(3), ThroughOrdinal: database.Count(s, 4), AfterSummary: s.ColumnText(5), Pinned: s.ColumnText(6),
			Baseline: s.ColumnText(7), Acknowledgement: s.ColumnText(8), Delta: s.ColumnText(9),
			BaselineSeq: newest(s, 10), DeltaSeq: newest(s, 11), BaselineTokens: database.Count(s, 12), DeltaTokens: database.Count(s, 13),
			Sections: s.ColumnText(14), Memories: s.ColumnText(15), MemoryID: s.ColumnInt64(16), ChangeID: s.ColumnInt64(17),
			FoldedPass: database.Count(s, 18), FoldedAt: s.ColumnInt64(19), FoldReason: s.ColumnText(20), DocsHash: s.ColumnText(21),
			KeyFiles: s.ColumnText(22),
		}
	}, key.Harness, key.Session)
	return head, err
}
