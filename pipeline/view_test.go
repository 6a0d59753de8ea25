package pipeline

import (
	"fmt"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// When the last call of an answer is removed, the answer's thinking is removed, too. The bug: a rule proposed to
// remove this thinking once more, and a bust for rent counted its tokens as freed, although they were already
// gone (fuzzer, -harness opencode2 -seed 740514).
func TestThinkingThatIsNotSentFreesNothing(t *testing.T) {
	call := func(n int) string {
		return fmt.Sprintf(`{"id":"t%d","type":"tool","callID":"c%d","tool":"bash","state":{"status":"completed","input":{"command":"ls"},"output":"a.txt","title":"","metadata":{},"time":{"start":1,"end":2}}}`, n, n)
	}
	messages := []json.Value{
		json.Value(`{"info":{"id":"m1","role":"user"},"parts":[{"id":"p1","type":"text","text":"go on"}]}`),
		json.Value(`{"info":{"id":"m2","role":"assistant","finish":"tool-calls"},"parts":[{"id":"r2","type":"reasoning","text":"I think that I have to look at the files first."},` + call(1) + `]}`),
	}
	s := NewSession(Config{Options: render.Options{Codec: transcript.OpenCode{}}, CountText: func(text string) int { return len(text) }}, Meta{}, frozen.NewState(0, nil, nil, nil))
	fresh := s.Update(0, messages, "")
	thought := func() int {
		return s.view(render.Profile{ForgetsReasoning: true}, false, headChange{}).Messages[1].ThoughtTokens
	}
	if thought() == 0 {
		t.Error("thinking that is sent has no size")
	}
	s.State.Commit(frozen.Additions{Edits: []frozen.Edit{{Tag: fresh[1].Tag, Kind: frozen.Drop}}})
	if got := thought(); got != 0 {
		t.Errorf("thinking that is not sent has %d tokens", got)
	}
}
