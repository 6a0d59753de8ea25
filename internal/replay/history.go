package replay

import (
	"context"
	"slices"

	"github.com/magicctx/magicctx-host/internal/status"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/work"
)

func (p *player) publishedSince(ctx context.Context, ses *session, id string) ([]schema.HistoryPublish, error) {
	runs, err := p.store.Runs.Of(ctx, store.HistorianOf(store.Key{Harness: string(p.trace.harness), Session: id}), 0)
	if err != nil {
		return nil, err
	}
	before := ses.runs
	var all []schema.HistoryPublish
	for _, r := range slices.Backward(runs) {
		ses.runs = max(ses.runs, r.Run)
		if r.Run > before && r.Status == work.Success {
			all = append(all, status.PublishStatus(r))
		}
	}
	return all, nil
}
