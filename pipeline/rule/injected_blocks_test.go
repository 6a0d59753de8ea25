package rule_test

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
)

func TestInjectedBlocks(t *testing.T) {
	some := text(9).knowing(rule.Facts{Injected: true})
	only := text(9).knowing(rule.Facts{Injected: true, InjectedOnly: true})
	testRule(t, rule.InjectedBlocks, []ruleCase{
		{"a text with a block loses it, one that is nothing else goes", conversation(user(text(9), some, only), user(text(9))), rule.Knobs{ProtectedTags: 1}, "[{2 strip} {3 drop}]"},
		{"the assistant's too", conversation(assistant(some), user(text(9))), rule.Knobs{ProtectedTags: 1}, "[{1 strip}]"},
		{"age protects", conversation(user(some, some, only), user(text(9))), rule.Knobs{ProtectedTags: 3}, "[{1 strip}]"},
		{"what is dropped is dropped", conversation(user(some.edited(frozen.Drop), only.edited(frozen.Drop)), user(text(9))), rule.Knobs{ProtectedTags: 1}, "[]"},
	})
}
