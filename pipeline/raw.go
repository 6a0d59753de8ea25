package pipeline

import (
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// A RawMessage is one message of the transcript as the client sent it.
type RawMessage struct {
	// Key is empty if the message could not be read.
	Key string
	// Raw must not be changed.
	Raw json.Value
	// IsSummary is true for a message without an ordinal (history.IsSummary).
	IsSummary bool
}

// Raw returns message i of the array, counted from 0.
func (s *Session) Raw(i int) RawMessage {
	e := &s.entries[i]
	return RawMessage{Key: e.header.key, Raw: e.raw, IsSummary: e.isSummary()}
}

func (e *entry) isSummary() bool {
	h := &e.header
	return history.IsSummary(&transcript.Message{Role: h.role, Summary: h.summary, Finish: h.finish})
}
