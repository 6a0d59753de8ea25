package host

import (
	"context"

	"github.com/magicctx/magicctx-host/schema"
)

// DebugEcho sends the text back, behind the prefix that the directory
// configures.
func (h *Host) DebugEcho(_ context.Context, _ Client, p schema.DebugEchoParams) (schema.DebugEchoResult, error) {
	prefix := h.config(string(schema.HarnessOpenCode), p.Directory).DebugEchoPrefix
	return schema.DebugEchoResult{Text: prefix + p.Text}, nil
}
