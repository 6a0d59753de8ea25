package pipeline

import (
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// At the step limit, OpenCode 2 adds a message of its own to the end of one request. The bug: because the next request
// lacked this message, the host assumed that the user had reverted the prompt, and ignored that the provider had
// refused the request.
func TestMessageWithoutIDIsNotTakenBack(t *testing.T) {
	prompt := json.Value(`{"id":"msg_1","message":{"id":"msg_1","role":"user","content":[{"type":"text","text":"go on"}],"metadata":{}}}`)
	limit := json.Value(`{"id":"assistant-after-msg_1","message":{"role":"assistant","content":[{"type":"text","text":"Use no more tools."}]}}`)
	next := json.Value(`{"id":"msg_2","message":{"id":"msg_2","role":"user","content":[{"type":"text","text":"well?"}],"metadata":{}}}`)
	for name, c := range map[string]struct {
		keep int
		want bool
	}{
		"the limit's words are gone": {1, false},
		"the prompt is gone, too":    {0, true},
	} {
		s := NewSession(Config{Options: render.Options{Codec: transcript.OpenCode2{}}, CountText: func(text string) int { return len(text) }}, Meta{}, frozen.NewState(0, nil, nil, nil))
		s.Update(0, []json.Value{prompt, limit}, "")
		w := s.Render(s.Decide(Readings{LimitTokens: 1000, Threshold: 65}))
		s.Update(c.keep, []json.Value{next}, w.Token)
		if got := s.TookBack(); got != c.want {
			t.Errorf("%s: taken back %t, want %t", name, got, c.want)
		}
	}
}
