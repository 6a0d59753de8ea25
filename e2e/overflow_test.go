package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/schema"
)

const limitTimeout = 20 * time.Second

// If the provider's refusal contains a limit, the host must use this limit, until the provider accepts a larger prompt.
func TestWindowIsLearnedFromTheProvider(t *testing.T) {
	testWindowIsLearnedFromTheProvider(t, schema.HarnessOpenCode)
}

func testWindowIsLearnedFromTheProvider(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), map[string]string{"notes.txt": "41\n"})
	oc := w.launch(w.withPlugin())
	session := w.session(oc)
	answer := mockllm.Say("Here.")
	answer.Usage = &promptcache.Tokens{Fresh: 100, Read: 150_000}
	w.play(session, mockllm.Say("Hello."),
		mockllm.Fail(400, "invalid_request_error", "prompt is too long: 160000 tokens > 140000 maximum"), answer, mockllm.Say("Bye."))

	w.prompt(oc, session, "Hello?")
	w.wantLimit(session, opencodetest.DefaultLimits.Context, schema.LimitCatalogue)
	if err := oc.Send(w.ctx, session, opencodetest.Prompt{Text: "Too long."}); err == nil {
		t.Error("the refused turn succeeded")
	}
	w.wantLimit(session, 140_000, schema.LimitOverflow)
	w.prompt(oc, session, "Again.")
	w.wantLimit(session, opencodetest.DefaultLimits.Context, schema.LimitCatalogue)
	w.prompt(oc, session, "Bye.")
	w.stop(oc)
	w.stopHost()
	for _, p := range w.journal(session)[1:] {
		if p.Bust {
			t.Errorf("pass %d is a bust (%s)", p.Pass, p.BustCause)
		}
	}
}

// Events reach the host after OpenCode has answered, so wantLimit waits.
func (w *world) wantLimit(session string, tokens int, source schema.LimitSource) {
	w.t.Helper()
	var seen schema.SessionStatus
	ctx, cancel := context.WithTimeout(w.ctx, limitTimeout)
	defer cancel()
	for ctx.Err() == nil {
		status, err := w.user.Status(w.ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, s := range status.Sessions {
			if s.Session == session {
				seen = s
			}
		}
		if seen.ContextTokens == tokens && seen.LimitSource == source {
			return
		}
	}
	w.t.Errorf("the window is %d by %s, want %d by %s", seen.ContextTokens, seen.LimitSource, tokens, source)
}
