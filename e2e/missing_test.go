package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/pitest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

// If the host is missing, the provider must receive the same requests as without the plugin.
func TestMissingHostLeavesPromptsUnchanged(t *testing.T) {
	suite.OnlyWithAll(t, "Pi has this session, and OpenCode one in e2e/fault")
	testMissingHostLeavesPromptsUnchanged(t, schema.HarnessOpenCode)
}

func testMissingHostLeavesPromptsUnchanged(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	root := suite.Root(t)
	files := map[string]string{"notes.txt": "the answer is 41\n"}
	run := func(hasPlugin bool) []*mockllm.Request {
		w := newWorldOf(t, h, root, files)
		o := w.bare()
		if hasPlugin {
			o = w.user.WithPlugin(filepath.Join(root, "no-such-host"), w.project, w.mock.URL())
		}
		oc := w.launch(o)
		session := w.session(oc)
		w.play(session,
			w.readNotes("toolu_1"), mockllm.Say("It says 41."), mockllm.Say("You are welcome."))
		w.prompt(oc, session, "What is the answer?")
		w.prompt(oc, session, "Thanks.")
		if isThere := w.pluginComplained(oc); isThere != hasPlugin {
			t.Errorf("the plugin complains of its host: %v, want %v", isThere, hasPlugin)
		}
		w.destroy(oc)
		return w.requests(session)
	}
	checkBodies(t, run(false), run(true))
}

// pluginComplained reports whether the plugin has reported that the host is missing. In OpenCode,
// the report is in the log. In Pi, it is a notice.
func (w *world) pluginComplained(oc agent.Agent) bool {
	if p, ok := oc.(*agent.Pi); ok {
		return slices.ContainsFunc(p.UIRequests("notify"), func(r pitest.UIRequest) bool { return strings.Contains(r.Message, "no-such-host") })
	}
	return strings.Contains(w.logs()["opencode.log"], "no-such-host")
}
