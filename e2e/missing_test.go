package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/suite"
)

// Without its host the plugin changes nothing: the provider receives what OpenCode alone would send.
func TestMissingHostLeavesPromptsUnchanged(t *testing.T) {
	suite.Needs(t)
	root := suite.Root(t)
	files := map[string]string{"notes.txt": "the answer is 41\n"}
	run := func(hasPlugin bool) []*mockllm.Request {
		w := newWorld(t, root, files)
		o := w.bare()
		if hasPlugin {
			o = w.user.WithPlugin(filepath.Join(root, "no-such-host"), w.project, w.mock.URL())
		}
		oc := w.start(o)
		session := w.session(oc)
		w.play(session,
			mockllm.Call("toolu_1", "read", map[string]any{"filePath": filepath.Join(w.project, "notes.txt")}),
			mockllm.Say("It says 41."), mockllm.Say("You are welcome."))
		w.prompt(oc, session, "What is the answer?")
		w.prompt(oc, session, "Thanks.")
		if isThere := w.pluginComplained(); isThere != hasPlugin {
			t.Errorf("the plugin complains of its host: %v, want %v", isThere, hasPlugin)
		}
		w.destroy(oc)
		return w.requests(session)
	}
	checkBodies(t, run(false), run(true))
}

// pluginComplained reports whether OpenCode's log tells the user that the host is missing.
func (w *world) pluginComplained() bool {
	return strings.Contains(w.logs()["opencode.log"], "no-such-host")
}
