package host

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/schema"
)

// The status shows figures of the head and the history. After a restart, the host must read them from the store and
// show the same figures.
func TestStatusTellsHeadAndHistory(t *testing.T) {
	h := answering(t, good)
	h.talk(0, 20, 950, 40_000)
	h.user("now", "go on")
	h.pass()
	before := h.status().Sessions[0]
	h.settle()
	h.flush()
	h.user("again", "go on")
	h.pass()
	h.settle()
	st := h.status().Sessions[0]
	rows := h.compartments()
	end := rows[0].End
	if p := st.History.LastPublish; p == nil || p.Start != 1 || p.End < end || p.MadeBy != "model" || p.Fidelity <= 0 {
		t.Errorf("the newest publication is %+v", p)
	}
	if n := st.History; n.Compartments != len(rows) || n.RawTokens == 0 || n.Failures != 0 || n.IsOverdue || n.Usage.Output == 0 {
		t.Errorf("the history is %+v", n)
	}
	head := st.Head
	if head == nil || head.Epoch != 1 || head.FoldReason != "first-head" || head.FoldPass != 2 || head.Through != end || head.Sections.Compartments == 0 {
		t.Fatalf("the head is %+v", head)
	}
	if head.Covered < 9_000 || st.Tokens.Text >= before.Tokens.Text || st.Tokens.Head == 0 {
		t.Errorf("the head covers %d tokens, of text are left %d of %d, and the head has %d", head.Covered, st.Tokens.Text, before.Tokens.Text, st.Tokens.Head)
	}
	if len(head.Folds) != 1 || head.Folds[0] != (schema.CauseCount{Cause: "first-head", Count: 1}) {
		t.Errorf("folds %+v", head.Folds)
	}
	h.restart()
	again := h.status().Sessions[0]
	if diff := cmp.Diff(head, again.Head) + cmp.Diff(st.History, again.History) + cmp.Diff(st.Tokens, again.Tokens); diff != "" {
		t.Errorf("a restart changes the figures (-before +after):\n%s", diff)
	}
}

func TestStatusNamesAFailingHistorian(t *testing.T) {
	h := answering(t, func(schema.AgentRunParams) (string, error) { return "<<<>>> no", nil })
	h.talkLong()
	n := h.status().Sessions[0].History
	if n == nil || n.Failures != 1 || n.Publishes != 0 || !strings.Contains(n.LastError, "no usable summary") || n.RetryPass <= 1 {
		t.Fatalf("the history is %+v", n)
	}
	h.talk(20, 1, 10, 55_000) // 86 %: an extract is published
	h.user("more", "go on")
	for i := range 8 {
		h.pass()
		h.settle()
		h.talk(100+i, 1, 10, 55_000)
	}
	n = h.status().Sessions[0].History
	if n.Extracted == 0 || n.Extracted != n.Publishes || n.Extractive == 0 || n.Failures < 1 || n.LastError == "" {
		t.Errorf("after an extract, the history is %+v", n)
	}
}
