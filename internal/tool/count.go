package tool

import (
	"context"
	"fmt"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// counts holds how often the model of a session has counted.
var counts = session.NewLastingSlot[int]()

// countTool is ctx_count, a toy that counts its own calls.
var countTool = tool{
	name: "ctx_count", description: "Counts how often it was called in this session.",
	parameters: json.Value(`{"type":"object","properties":{},"additionalProperties":false}`),
	run: func(t *Tools, ctx context.Context, key store.Key, _ schema.ToolExecuteParams) (schema.ToolExecuteResult, error) {
		s, err := t.Sessions.Lock(ctx, key)
		if err != nil {
			return schema.ToolExecuteResult{}, err
		}
		defer s.Unlock()
		n := counts.Of(s)
		*n++
		return schema.ToolExecuteResult{Title: "counted", Output: fmt.Sprint(*n)}, nil
	},
}
