package pipeline

import (
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// Raw returns the messages as the client sent them, in the harness's order. The caller must not change them.
func (s *Session) Raw() (entries []history.Entry, raws []json.Value) {
	for _, i := range s.inStoreOrder(s.Codec.Vocabulary()) {
		entries, raws = append(entries, s.entries[i].numbered()), append(raws, s.entries[i].raw)
	}
	return entries, raws
}

func (e *entry) isSummary() bool {
	h := &e.header
	return history.IsSummary(&transcript.Message{Role: h.role, Summary: h.summary, Finish: h.finish})
}
