package rule_test

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
)

func TestOldSkeletons(t *testing.T) {
	skeleton := call("read", 100).edited(frozen.Skeleton)
	behind := func(parts ...part) rule.View {
		return conversation(assistant(append(parts, many(20, call("read", 1))...)...))
	}
	testRule(t, rule.OldSkeletons, []ruleCase{
		{"nothing is needed", needing(0, behind(skeleton, skeleton)), rule.Knobs{}, "[]"},
		{"the oldest first, until enough is free", needing(9, behind(skeleton, skeleton, skeleton)), rule.Knobs{}, "[{1 drop} {2 drop}]"}, // each frees 8 tokens
		{"only skeletons", needing(99, behind(call("read", 100), skeleton, skeleton.edited(frozen.Drop), text(9))), rule.Knobs{}, "[{2 drop}]"},
		{"the newest twenty tools keep theirs", needing(99, conversation(assistant(append([]part{skeleton, skeleton}, many(19, call("read", 1))...)...))), rule.Knobs{}, "[{1 drop}]"},
		{"with fewer tools all do", needing(99, conversation(assistant(skeleton, skeleton))), rule.Knobs{}, "[]"},
	})
}
