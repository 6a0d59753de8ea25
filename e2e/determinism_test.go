package e2e

import (
	"testing"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

// Other tests compare the requests of two runs byte by byte. That works because OpenCode sends the same bodies if the
// paths and the model's answers are the same. Only midnight breaks this, because the date in the system prompt changes.
func TestOpenCodeSendsTheSameBytesTwice(t *testing.T) { testSameBytesTwice(t, schema.HarnessOpenCode) }

func testSameBytesTwice(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	suite.OnlyWithAll(t, "the test that kills the host compares two runs as well")
	root := suite.Root(t)
	files := storyFiles(t)
	var runs [2][]*mockllm.Request
	for i := range runs {
		w := newWorldOf(t, h, root, files)
		story := newStory(w.project, files, w.tools())
		story.turns = story.turns[:1]
		oc := w.launch(w.bare())
		session := w.session(oc)
		w.play(session, story.steps()...)
		w.tell(oc, session, story)
		runs[i] = w.requests(session)
		w.destroy(oc)
	}
	checkBodies(t, runs[0], runs[1])
}
