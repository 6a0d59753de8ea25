package history

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

func TestIsSummary(t *testing.T) {
	for _, c := range []struct {
		name string
		m    transcript.Message
		want bool
	}{
		{"a summary that Pi shows as a prompt", transcript.Message{Role: transcript.User, Summary: true}, true},
		{"a finished summary", transcript.Message{Role: transcript.Assistant, Summary: true, Finish: transcript.EndsTurn}, true},
		{"a summary that is being written", transcript.Message{Role: transcript.Assistant, Summary: true}, false},
		{"a summary that was cut off", transcript.Message{Role: transcript.Assistant, Summary: true, Finish: transcript.EndsOtherwise}, false},
		{"a prompt", transcript.Message{Role: transcript.User}, false},
		{"an answer", transcript.Message{Role: transcript.Assistant, Finish: transcript.EndsTurn}, false},
	} {
		if got := IsSummary(&c.m); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
