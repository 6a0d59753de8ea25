package host

import (
	"context"

	"github.com/magicctx/magicctx-host/schema"
)

// ToolExecute runs one of the host's tools. If the call itself is wrong, the
// model reads the reason as the tool's result, so that it can correct its call.
func (h *Host) ToolExecute(ctx context.Context, c Client, p schema.ToolExecuteParams) (schema.ToolExecuteResult, error) {
	key, err := h.key(c, p.Session)
	if err != nil {
		return schema.ToolExecuteResult{}, err
	}
	switch p.Tool {
	case reduceTool:
		return h.reduce(ctx, key, p)
	case expandTool:
		return h.expand(ctx, key, p)
	}
	return schema.ToolExecuteResult{}, invalid("there is no tool %q", p.Tool)
}
