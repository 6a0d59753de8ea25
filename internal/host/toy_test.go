package host

import (
	"context"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/toy"
	"github.com/magicctx/magicctx-host/schema"
)

func TestToyAsksOncePerProject(t *testing.T) {
	h := newHarness(t)
	var asked []schema.AgentRunParams
	h.runAgent = func(_ context.Context, p schema.AgentRunParams) (schema.AgentRunResult, error) {
		asked = append(asked, p)
		return schema.AgentRunResult{Answers: []json.Value{json.Value(`{"info":{"role":"assistant"},"parts":[]}`)}}, nil
	}
	h.user("u1", "one")
	h.pass()
	h.user("u2", "two")
	h.pass()
	h.settle()
	if len(asked) != 1 || asked[0].Agent != toy.Agent || asked[0].Directory != "/p" || asked[0].Session != "" {
		t.Errorf("asked %+v", asked)
	}
}
