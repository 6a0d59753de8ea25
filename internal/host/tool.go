package host

import (
	"context"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/mode"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// ToolExecute runs one of the host's tools. If the call is wrong, the model gets the reason as the tool's
// result, so that it can correct the call.
func (h *Host) ToolExecute(ctx context.Context, c client.Client, p schema.ToolExecuteParams) (schema.ToolExecuteResult, error) {
	key, err := h.key(c, p.Session)
	if err != nil {
		return schema.ToolExecuteResult{}, err
	}
	switch p.Tool {
	case mode.ReduceTool:
		return h.reduce(ctx, key, p)
	case transcript.ExpandTool:
		return h.expand(ctx, key, p)
	}
	return schema.ToolExecuteResult{}, client.Invalid("there is no tool %q", p.Tool)
}
