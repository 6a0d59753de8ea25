package host

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/store/index"
)

// indexed returns the chunks of the index that have a term.
func (h *harness) indexed(term string) (all []string) {
	h.t.Helper()
	x, err := index.OpenReadOnly(h.ctx, h.dir)
	if errors.Is(err, index.ErrMissing) {
		return nil
	}
	if err != nil {
		h.t.Fatal(err)
	}
	defer x.Close()
	err = x.View(h.ctx, func(v *index.View) error {
		return v.Find(`"`+term+`"`, index.Scope{}, 99, func(hit index.Hit) { all = append(all, hit.Text) })
	})
	if err != nil {
		h.t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// keepsIndex lets the host keep an index, without waiting after a pass.
func (h *harness) keepsIndex() { h.host.index.Dir, h.host.index.After = h.dir, time.Millisecond }

// The index follows a running session.
func TestPassesKeepTheIndexUpToDate(t *testing.T) {
	h := newHarness(t)
	db := rawhistorytest.NewOpenCode(t, h.readsStores())
	h.keepsIndex()
	h.user("u1", "where is the zebra")
	h.pass()
	h.tool("a1", "output", "stop", 1000)
	h.user("u2", "another zebra")
	db.Add(testSession, apart(h.messages))
	h.pass()
	h.host.background.Wait()
	if got := h.indexed("zebra"); !slices.Equal(got, []string{"another zebra", "where is the zebra"}) {
		t.Errorf("%q", got)
	}
}
