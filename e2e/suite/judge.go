package suite

import (
	"context"
	"fmt"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/judge"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/schema"
)

// converters maps a dialect to the package of the AI SDK that produces its requests.
var converters = map[mockllm.Dialect]string{mockllm.Anthropic: "anthropic", mockllm.OpenAI: "openai-compatible"}

// Judge lets the judge check all requests that the mock has received, at the end of the test. If the judge is not
// installed, Judge does nothing. A test that must not run without the judge calls judge.Needs.
func Judge(t *testing.T, mock *mockllm.Server) {
	t.Helper()
	t.Cleanup(func() {
		requests := mock.Requests()
		if len(requests) == 0 || t.Skipped() {
			return
		}
		j, err := judge.Start(context.WithoutCancel(t.Context())) // at this time, the test's own context has ended
		if err != nil {
			t.Log(err)
			return
		}
		for _, r := range requests {
			harness := ""
			if r.Header.Get("X-Opencode-Session") != "" {
				harness = string(schema.HarnessOpenCode2)
			}
			err := j.Send(judge.Case{
				Harness: harness, Name: fmt.Sprintf("request %d of %s", r.Seq, t.Name()), Converter: converters[r.Dialect], Body: r.Body,
				Binds: r.Dialect == mockllm.Anthropic && render.ProfileNamed("anthropic").BindsThinking(r.Model),
			})
			if err != nil {
				t.Error(err)
				break
			}
		}
		j.Check(t)
	})
}
