package rule_test

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
)

func TestSpentReasoning(t *testing.T) {
	thought := func(tokens int, parts ...part) turn {
		m := assistant(parts...)
		m.message.LosesSpentThought, m.message.ThoughtTokens = true, tokens
		return m
	}
	keeping := func(m turn) turn { m.message.KeepsCall = true; return m }
	gone, goneCall, skeleton := text(50).edited(frozen.Drop), call("read", 100).edited(frozen.Drop), call("read", 100).edited(frozen.Skeleton)
	unthought := gone
	unthought.unit.Unthought = true
	testRule(t, rule.SpentReasoning, []ruleCase{
		{"the text is gone", needing(999, conversation(thought(50, gone), user(text(1)))), rule.Knobs{}, "[{1 unthink}]"},
		{"and the call", needing(999, conversation(thought(50, gone, goneCall), user(text(1)))), rule.Knobs{}, "[{2 unthink}]"},
		{"it left with the call", needing(999, conversation(thought(50, goneCall), user(text(1)))), rule.Knobs{}, "[]"},
		{"a text is left", needing(999, conversation(thought(50, gone, text(1)), user(text(1)))), rule.Knobs{}, "[]"},
		{"a skeleton is left", needing(999, conversation(thought(50, gone, skeleton), user(text(1)))), rule.Knobs{}, "[]"},
		{"the call has to stay", needing(999, conversation(keeping(thought(50, gone, goneCall)), user(text(1)))), rule.Knobs{}, "[]"},
		{"the provider misses it", needing(999, conversation(assistant(gone).thinking(), user(text(1)))), rule.Knobs{}, "[]"},
		{"it is gone", needing(999, conversation(thought(50, unthought), user(text(1)))), rule.Knobs{}, "[]"},
		{"a message without units", needing(999, conversation(thought(50), user(text(1)))), rule.Knobs{}, "[]"},
		{"the oldest first, until enough is free", needing(50, conversation(thought(50, gone), thought(50, gone))), rule.Knobs{}, "[{1 unthink}]"},
		{"one more token", needing(51, conversation(thought(50, gone), thought(50, gone))), rule.Knobs{}, "[{1 unthink} {2 unthink}]"},
		{"nothing is needed", needing(0, conversation(thought(50, gone))), rule.Knobs{}, "[]"},
	})
}
