package rule_test

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
)

func TestSpentNarration(t *testing.T) {
	gone, skeleton, live := call("read", 100).edited(frozen.Drop), call("read", 100).edited(frozen.Skeleton), call("read", 100)
	k := rule.Knobs{ProtectedTags: 1}
	testRule(t, rule.SpentNarration, []ruleCase{
		{"what was said beside calls that are gone", needing(999, conversation(assistant(text(50), gone), assistant(text(50), skeleton), user(text(1)))), k, "[{1 drop} {3 drop}]"},
		{"beside one that is still there", needing(999, conversation(assistant(text(50), gone, live), user(text(1)))), k, "[]"},
		{"an answer", needing(999, conversation(assistant(text(50)), user(text(1)))), k, "[]"},
		{"the user's part", needing(999, conversation(user(text(50)), user(text(1)))), k, "[]"},
		{"nothing is needed", needing(0, conversation(assistant(text(50), gone), user(text(1)))), k, "[]"},
		{"the oldest first, until enough is free", needing(42, conversation(assistant(text(50), gone), assistant(text(50), gone), user(text(1)))), k, "[{1 drop}]"}, // the drop frees 42 tokens
		{"one more token", needing(43, conversation(assistant(text(50), gone), assistant(text(50), gone), user(text(1)))), k, "[{1 drop} {3 drop}]"},
		{"a text no longer than its placeholder", needing(999, conversation(assistant(text(8), text(9), gone), user(text(1)))), k, "[{2 drop}]"},
		{"age protects", needing(999, conversation(assistant(text(50), gone), assistant(text(50), gone), user(text(1)))), rule.Knobs{ProtectedTags: 2}, "[{1 drop}]"},
		{"what is dropped is dropped", needing(999, conversation(assistant(text(50).edited(frozen.Drop), gone), user(text(1)))), k, "[]"},
	})
}
