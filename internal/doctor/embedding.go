package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/magicctx/magicctx-host/internal/embedding"
	"github.com/magicctx/magicctx-host/internal/words"
)

const embeddingTimeout = 10 * time.Second

func (x *examination) embedding(ctx context.Context) {
	e := embedding.Embedder{Dir: x.DataDir, Source: &embedding.Source{Env: x.Env}}
	st := e.Status(ctx)
	if st == nil {
		return
	}
	if service, _ := e.Source.Service(); st.Problem == "" && service != nil {
		ctx, cancel := context.WithTimeoutCause(ctx, embeddingTimeout, fmt.Errorf("no answer within %s", embeddingTimeout))
		defer cancel()
		if _, err := service.Embed(ctx, []string{"magicctx"}); err != nil {
			st.Problem = err.Error()
		}
	}
	if st.Problem != "" {
		x.warn("start the service, or correct the block embedding of your magicctx.jsonc; until then, searches use words only", "%s", words.Embedding(st))
		return
	}
	x.ok("%s", words.Embedding(st))
}
