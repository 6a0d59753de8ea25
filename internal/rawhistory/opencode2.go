package rawhistory

import (
	"context"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/store/opencodedb"
)

// readOpenCode2 reads the messages of a session of OpenCode 2. If the session began under version 1, its first messages
// come from the tables of version 1. Version 2 has copies of these messages, but the copies are incomplete: they lack
// pruned output, and they lack the prompt at which a compaction marker was set.
func (r Reader) readOpenCode2(ctx context.Context, s Session, start, end int, yield func(Message) bool) (extent Extent, err error) {
	extent.Path, err = r.databaseWith(ctx, s.ID, (*opencodedb.DB).HasSessionOfTwo, func(db *opencodedb.DB) error {
		rows, err := db.MessagesOfTwo(s.ID)
		if err != nil {
			return err
		}
		isRelease, err := db.IsRelease()
		if err != nil {
			return err
		}
		entries := make([]history.Entry, len(rows))
		for i, row := range rows {
			entries[i] = history.Entry{Key: row.ID, IsSummary: row.Type == "compaction" && !row.IsOfOne}
		}
		read := func(i int) (json.Value, error) {
			if rows[i].IsOfOne {
				return db.Raw(s.ID, rows[i].ID)
			}
			data, err := db.RawOfTwo(rows[i].ID)
			if err != nil || data == nil {
				return nil, err
			}
			return stepOf(rows[i], data, isRelease), nil
		}
		extent, err = Deliver(ctx, transcript.WithTyped(bothVersions{}, s.Typed), entries, s.Anchors, start, end, read, yield)
		return err
	})
	return extent, err
}

// bothVersions also decodes messages of version 1, because a session of OpenCode 2 may have some.
type bothVersions struct{ transcript.OpenCode2 }

func (c bothVersions) Decode(raw json.Value) transcript.Message {
	if m := (transcript.OpenCode{}).Decode(raw); m.Key != "" {
		return m
	}
	return c.OpenCode2.Decode(raw)
}
