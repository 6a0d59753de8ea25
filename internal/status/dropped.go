package status

import (
	"context"
	"slices"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

const maxDroppedUnits = 5000

func (sb *Statuses) droppedUnits(ctx context.Context, key store.Key) ([]schema.DroppedUnit, error) {
	rows, err := sb.Store.Reports.DroppedUnits(ctx, key)
	return sb.describe(key, rows), err
}

// returnable returns the dropped units that the user can bring back. `summarised` is the number of dropped units
// that cannot come back, because summaries replace their messages. `head` may be nil.
func (sb *Statuses) returnable(ctx context.Context, key store.Key, head *schema.HeadStatus) (units []schema.DroppedUnit, summarised int, err error) {
	rows, err := sb.Store.Reports.DroppedUnits(ctx, key)
	if err != nil || len(rows) == 0 || head == nil || head.Through == 0 {
		return sb.describe(key, rows), 0, err
	}
	compartments, _, err := sb.Store.History.Compartments(ctx, key)
	if err != nil {
		return nil, 0, err
	}
	covered := make(map[string]bool)
	for _, c := range compartments {
		if c.Start <= head.Through {
			for _, message := range c.Keys {
				covered[message] = true
			}
		}
	}
	left := slices.DeleteFunc(slices.Clone(rows), func(r store.DroppedRow) bool { return covered[r.MessageKey] })
	return sb.describe(key, left), len(rows) - len(left), nil
}

func (sb *Statuses) describe(key store.Key, rows []store.DroppedRow) []schema.DroppedUnit {
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
	return all
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
