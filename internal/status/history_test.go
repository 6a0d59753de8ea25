package status

import (
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

func TestOverdueHistoryIsAWarning(t *testing.T) {
	const now = 10_000_000
	st := func(overdue bool, at int64) schema.SessionStatus {
		return schema.SessionStatus{Session: "ses_1", Directory: "/p", LastPassAt: at, History: &schema.HistoryStatus{Waited: 7, IsOverdue: overdue, LastError: "a refusal"}}
	}
	all := historyWarnings([]schema.SessionStatus{st(true, now-1000), st(false, now), st(true, now-4_000_000), {}}, now)
	if len(all) != 1 || all[0].Source != "history" || !strings.Contains(all[0].Message, "7 requests") || !strings.Contains(all[0].Message, "a refusal") {
		t.Errorf("warnings %+v", all)
	}
}

// An empty delta is a sentence that says that nothing was added. The bug: the status counted the tokens of this
// sentence, and reported "22 added since".
func TestEmptyDeltaIsNothingAdded(t *testing.T) {
	empty := tokens.Count(history.EmptyDelta)
	for size, want := range map[int]int{empty: 0, empty + 1: empty + 1} {
		r := store.SessionReport{Head: &store.HeadRow{BaselineTokens: 900, DeltaTokens: size}}
		if got := headStatus(r).Delta; got != want {
			t.Errorf("a delta of %d tokens: %d added, want %d", size, got, want)
		}
	}
}
