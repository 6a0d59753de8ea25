package replay

import (
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// The session runs without magicctx. Its messages have T tokens each, and the window has 10 T. A token of a prompt
// costs $1, and a token of an answer $2. The first ten requests cost T + 2T + ... + 10T = 55T. The eleventh does not
// fit, so OpenCode compacts. It keeps a quarter of the window, which holds two messages. It summarises the other nine,
// which costs 9T, and $2 for each token of the summary. Then it sends the summary with the two messages. The next
// prompt that does not fit has the summary and nine messages.
func TestHarnessAloneCompacts(t *testing.T) {
	text := strings.Repeat("word ", 1000)
	size := tokens.Count(text)
	window := 10 * size
	if 2*size > window/4 || 3*size <= window/4 || summaryTokens+8*size > window || summaryTokens+9*size <= window {
		t.Fatalf("a message has %d tokens", size)
	}
	price := schema.Price{Fresh: 1e6, Write: 1e6, Read: 1e6, Output: 2e6}
	a, plain := &alone{of: transcript.CompactionVocabulary{LeastKept: 2000, MostKept: 15_000}}, newBiller()
	var p prompt
	bill, at := 0.0, int64(1)
	send := func() {
		p.messages = append(p.messages, render.WireMessage{Key: text[:1], Role: transcript.User, Blocks: []render.Block{{Kind: render.TextBlock, Text: text}}})
		at++
		r := route.Named("anthropic")
		whole, _ := plain.request(at, "m", r, p)
		usage, compaction := a.request(at, "m", r, p, whole, window, 0)
		bill += promptcache.Bill(usage, price) + promptcache.Bill(compaction, price)
	}
	for _, step := range []struct {
		messages, compactions, from int
		bill                        int
	}{
		{10, 0, 0, 55 * size},
		{11, 1, 9, 55*size + 9*size + 2*summaryTokens + summaryTokens + 2*size},
		{17, 1, 9, 66*size + 3*summaryTokens + (3+4+5+6+7+8)*size + 6*summaryTokens},
		{18, 2, 16, 99*size + 9*summaryTokens + (summaryTokens + 7*size) + 2*summaryTokens + summaryTokens + 2*size},
	} {
		for len(p.messages) < step.messages {
			send()
		}
		if a.compactions != step.compactions || a.from != step.from || int(bill+0.5) != step.bill {
			t.Errorf("after %d messages: %d compactions, %d messages summarised, a bill of %.0f; want %+v", step.messages, a.compactions, a.from, bill, step)
		}
	}
	p.messages = nil
	if send(); a.compactions != 0 || a.from != 0 {
		t.Errorf("after a revert: %d compactions, %d messages summarised", a.compactions, a.from)
	}
	// Pi keeps more messages than OpenCode, so it has nothing to summarise here.
	pi := &alone{of: transcript.CompactionVocabulary{LeastKept: 20_000, MostKept: 20_000}}
	for len(p.messages) < 11 {
		send()
	}
	if _, compaction := pi.request(at, "m", route.Named("anthropic"), p, promptcache.Tokens{Fresh: 11 * size}, window, 0); compaction.Prompt() != 0 {
		t.Errorf("Pi has summarised %d tokens", compaction.Prompt())
	}
}
