package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/suite"
)

// OpenCode 1 also calls the plugin's entry that is meant for OpenCode 2, with a context that has no sessions. This
// entry must then do nothing.
func TestOpenCode1CallsBothEntries(t *testing.T) {
	suite.Needs(t)
	t.Parallel()
	w := newWorld(t, suite.Root(t), map[string]string{"notes.txt": "the answer is 41\n"})
	w.mock.AddRule(mockllm.Rule{Name: "title", Match: mockllm.Model("claude-mini-5-0"), Answer: mockllm.Always(mockllm.Say("A question"))})
	options := w.withPlugin()
	called := filepath.Join(w.root, "called")
	wrapper := filepath.Join(w.root, "wrapper.js")
	code := fmt.Sprintf(`import { appendFileSync } from "node:fs"
import plugin from %q
const setup = async (ctx) => {
  const cleanup = await plugin.setup(ctx)
  appendFileSync(%q, JSON.stringify({ session: typeof ctx.session, cleanup: typeof cleanup }))
  return cleanup
}
export default { ...plugin, setup }
`, product.Shim, called)
	if err := os.WriteFile(wrapper, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	options.Plugins = []any{"file://" + filepath.ToSlash(wrapper)}
	oc := w.start(options)
	s := w.session(oc)
	w.play(s, mockllm.Say("41"))
	if _, err := oc.Prompt(w.ctx, s, opencodetest.Prompt{Text: "what is the answer?"}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		seen, err := os.ReadFile(called)
		if err == nil {
			if string(seen) != `{"session":"undefined","cleanup":"undefined"}` {
				t.Errorf("the entry of version 2 saw and did %s", seen)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("OpenCode 1 has not called the entry of version 2")
		}
	}
	requests := w.requests(s)
	if len(requests) != 1 || !strings.Contains(string(requests[0].Body), "§1§ what is the answer?") {
		t.Errorf("%d requests, or the half for version 1 did not work", len(requests))
	}
}
