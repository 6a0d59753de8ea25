package tool

import (
	"testing"

	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

func TestCountCountsTheCallsOfItsSession(t *testing.T) {
	tools := New(Options{Sessions: session.New(session.Options{})})
	for _, call := range []struct{ session, want string }{{"a", "1"}, {"a", "2"}, {"b", "1"}, {"a", "3"}} {
		r, err := tools.Run(t.Context(), store.Key{Harness: "pi", Session: call.session}, schema.ToolExecuteParams{Tool: "ctx_count"})
		if err != nil || r.Output != call.want {
			t.Errorf("%s: %q, %v, want %s", call.session, r.Output, err, call.want)
		}
	}
}
