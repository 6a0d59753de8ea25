package status

import (
	"context"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

const maxDroppedUnits = 5000

func (sb *Statuses) droppedUnits(ctx context.Context, key store.Key) ([]schema.DroppedUnit, error) {
	rows, err := sb.Store.Reports.DroppedUnits(ctx, key)
	if err != nil {
		return nil, err
	}
	rows = rows[:min(len(rows), maxDroppedUnits)]
	messages := make(map[string]bool)
	for _, r := range rows {
		messages[r.MessageKey] = true
	}
	about := sb.Sessions.About(key, messages)
	all := make([]schema.DroppedUnit, 0, len(rows))
	for _, r := range rows {
		u := schema.DroppedUnit{
			Tag: r.Tag, Kind: r.Kind, Tool: format.Shorten(r.Tool, maxShownName), About: about[r.UnitKey], Tokens: r.Tokens,
			Partly: r.Edit.Kind == string(frozen.Skeleton) || r.Edit.Kind == string(frozen.Withhold), Pass: r.Edit.Pass, At: r.At, Cause: format.Shorten(r.Cause, maxShownName), Rule: format.Shorten(r.Edit.Payload, maxShownName),
		}
		if !u.Partly {
			u.Tokens += r.InputTokens
		}
		all = append(all, u)
	}
	return all, nil
}

// Kept lists the units of a session that the user keeps.
func (sb *Statuses) Kept(ctx context.Context, key store.Key) ([]schema.KeptUnit, error) {
	rows, err := sb.Store.Pieces.Kept(ctx, key.Harness, key.Session)
	if err != nil {
		return nil, err
	}
	messages := make(map[string]bool)
	for _, r := range rows {
		messages[r.MessageKey] = true
	}
	about := sb.Sessions.About(key, messages)
	all := make([]schema.KeptUnit, len(rows))
	for i, r := range rows {
		all[i] = schema.KeptUnit{
			Tag: r.Tag, Kind: r.Kind, Tool: format.Shorten(r.Tool, maxShownName), About: about[r.UnitKey],
			Tokens: r.Tokens + r.InputTokens, Waits: r.IsTaken,
		}
	}
	return all, nil
}
