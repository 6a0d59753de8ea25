package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/magicctx/magicctx-host/internal/wirediff"
	"github.com/magicctx/magicctx-host/store"
)

func (p *pages) diff(r *http.Request) (wirediff.Diff, error) {
	request := wirediff.Request{Key: keyIn(r)}
	var err error
	if request.Pass, err = strconv.Atoi(r.URL.Query().Get("request")); err != nil || request.Pass < 1 {
		return wirediff.Diff{}, errors.New("a request has a number")
	}
	err = store.Browse(r.Context(), p.Dir, func(b *store.Browser) error {
		name, err := find(b, request.Key)
		if err != nil {
			return err
		}
		row, _, err := b.Reports().Session(r.Context(), request.Key)
		if err != nil {
			return err
		}
		if request.Pass > row.Passes {
			return missing(fmt.Sprintf("this session has no request %d: its newest is request %d", request.Pass, row.Passes))
		}
		var errs [5]error
		journal, journalErr := b.Reports().Passes(r.Context(), request.Key, request.Pass-1, 1)
		if len(journal) == 1 && journal[0].Pass == request.Pass {
			request.At = journal[0].At
		}
		removals, removalsErr := b.Reports().PassRemovals(r.Context(), request.Key)
		errs[0], errs[1] = journalErr, removalsErr
		request.Covered = coveredBefore(request.Pass, removals)
		request.Through = request.Covered
		for _, rm := range removals[request.Pass] {
			request.Through = max(request.Through, rm.Through)
		}
		request.Summaries, errs[2] = b.Compartments(request.Key)
		request.Snap, errs[3] = b.Snapshot(request.Key)
		request.Within, errs[4] = wirediff.Session(b, name, request.Summaries)
		return errors.Join(errs[:]...)
	})
	if err != nil {
		return wirediff.Diff{}, err
	}
	return wirediff.Of(r.Context(), request, p.Read)
}
