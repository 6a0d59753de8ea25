package rule_test

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
)

// A call of ctx_reduce is stale if it is older than the newest ProtectedTags messages.
func TestStaleReduceCalls(t *testing.T) {
	reduce := call(rule.ReduceTool, 5)
	four := func() rule.View {
		return conversation(assistant(reduce), assistant(text(1)), assistant(text(1), reduce), user(text(1)))
	}
	k := func(protected int) rule.Knobs {
		return rule.Knobs{DropsStaleReduceCalls: true, ProtectedTags: protected}
	}
	testRule(t, rule.StaleReduceCalls, []ruleCase{
		{"older than the newest three messages", four(), k(3), "[{1 drop}]"},
		{"nothing is protected", four(), k(0), "[{1 drop} {4 drop}]"},
		{"one of them is decided already", conversation(assistant(reduce.edited(frozen.Drop)), assistant(text(1)), assistant(text(1), reduce), user(text(1))), k(0), "[{4 drop}]"},
		{"all messages are protected", four(), k(9), "[]"},
		{"where something would have to stay in its place", four(), rule.Knobs{}, "[]"},
		{"other tools", conversation(assistant(call("read", 5)), user(text(1))), k(0), "[]"},
		{"a call without result", conversation(assistant(reduce.knowing(rule.Facts{Open: true})), user(text(1))), k(0), "[]"},
	})
}
