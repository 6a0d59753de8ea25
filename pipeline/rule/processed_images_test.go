package rule_test

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
)

func TestProcessedImages(t *testing.T) {
	image := file().knowing(rule.Facts{Image: true})
	gone := text(1).edited(frozen.Drop)
	k := rule.Knobs{ProtectedTags: 1}
	testRule(t, rule.ProcessedImages, []ruleCase{
		{"answered, and something newer was dropped", conversation(user(text(1), image), assistant(gone), user(text(1))), k, "[{2 drop}]"},
		{"nothing was dropped", conversation(user(text(1), image), assistant(text(1)), user(text(1))), k, "[]"},
		{"only older content was", conversation(user(gone), user(text(1), image), assistant(text(1)), user(text(1))), k, "[]"},
		{"the whole message must be older", conversation(user(image, gone, text(1)), assistant(text(1)), user(text(1))), k, "[]"},
		{"not answered", conversation(user(text(1), image), user(gone), user(text(1))), k, "[]"},
		{"a file that is no image", conversation(user(text(1), file()), assistant(gone), user(text(1))), k, "[]"},
		{"age protects", conversation(user(text(1), image), assistant(gone), user(text(1))), rule.Knobs{ProtectedTags: 3}, "[]"},
		{"up to the cutoff", conversation(user(text(1), image), assistant(gone), user(text(1))), rule.Knobs{ProtectedTags: 2}, "[{2 drop}]"},
		{"each of several", conversation(user(image, image), assistant(gone), user(image), assistant(gone), user(text(1))), k, "[{4 drop} {1 drop} {2 drop}]"},
	})
}
