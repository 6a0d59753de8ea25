package rule_test

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/rule"
)

func TestOldReasoning(t *testing.T) {
	said := func() turn { return assistant(text(1)).thinking() }
	k := rule.Knobs{ReasoningAge: 2}
	unthought := text(1)
	unthought.unit.Unthought = true
	testRule(t, rule.OldReasoning, []ruleCase{
		{"older than the age in tags", conversation(said(), said(), said()), k, "[{1 unthink}]"},
		{"all of them without an age", conversation(said(), said()), rule.Knobs{}, "[{1 unthink} {2 unthink}]"},
		{"a message without reasoning", conversation(assistant(text(1)), said(), said()), k, "[]"},
		{"a message counts as old as its newest unit", conversation(assistant(text(1), call("read", 1)).thinking(), said(), said()), k, "[{2 unthink}]"},
		{"and is young while that is", conversation(assistant(text(1), call("read", 1)).thinking(), said()), k, "[]"},
		{"what carries the decision already", conversation(assistant(unthought, call("read", 1)).thinking(), said(), said()), k, "[]"},
		{"a message without units", conversation(assistant().thinking(), said(), said()), k, "[]"},
	})
}
