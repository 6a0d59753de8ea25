package rule_test

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
)

func TestDuplicateCalls(t *testing.T) {
	same := call("read", 100).knowing(rule.Facts{Call: 7, Path: "/a.md"})
	other := call("read", 100).knowing(rule.Facts{Call: 8})
	failed := call("read", 100).knowing(rule.Facts{Call: 7, Failed: true})
	open := call("read", 100).knowing(rule.Facts{Call: 7, Open: true})
	on := rule.Knobs{Deduplicate: true, ProtectedTags: 1}
	with := func(change func(*rule.Knobs)) rule.Knobs { k := on; change(&k); return k }
	// The two equal calls have the tags 2 and 3. The newest unit, tag 4, is a text.
	twice := conversation(user(text(1)), assistant(same), assistant(same), user(text(1)))

	testRule(t, rule.DuplicateCalls, []ruleCase{
		{"the older of two", twice, on, "[{2 drop}]"},
		{"switched off", twice, rule.Knobs{ProtectedTags: 1}, "[]"},
		{"all but the newest", conversation(assistant(same), assistant(same), assistant(same), user(text(1))), on, "[{1 drop} {2 drop}]"},
		{"in one message", conversation(assistant(same, same), user(text(1))), on, "[{1 drop}]"},
		{"other arguments", conversation(assistant(same), assistant(other), user(text(1))), on, "[]"},
		{"tools that change something", conversation(assistant(call("bash", 9)), assistant(call("bash", 9)), user(text(1))), on, "[]"},
		{"a failed call says nothing newer", conversation(assistant(same), assistant(same), assistant(failed), user(text(1))), on, "[{1 drop}]"},
		{"nor is it a duplicate", conversation(assistant(failed), assistant(same), user(text(1))), on, "[]"},
		{"a call without result says nothing newer", conversation(assistant(same), assistant(open), user(text(1))), on, "[]"},
		{"nor is it a duplicate either", conversation(assistant(open), assistant(same), user(text(1))), on, "[]"},
		{"nor what was dropped", conversation(assistant(same), assistant(same.edited(frozen.Drop)), user(text(1))), on, "[]"},
		{"nor what is a skeleton", conversation(assistant(same), assistant(same.edited(frozen.Skeleton)), user(text(1))), on, "[]"},
		{"age protects up to the cutoff", twice, with(func(k *rule.Knobs) { k.ProtectedTags = 2 }), "[{2 drop}]"},
		{"and from there on", twice, with(func(k *rule.Knobs) { k.ProtectedTags = 3 }), "[]"},
		{"the newest step is protected", twice, with(func(k *rule.Knobs) { k.TurnProtection = 1 }), "[{2 drop}]"},
		{"the newest two are", twice, with(func(k *rule.Knobs) { k.TurnProtection = 2 }), "[]"},
		{"a protected tool", twice, with(func(k *rule.Knobs) { k.IsProtectedTool = is("read") }), "[]"},
		{"a protected path", twice, with(func(k *rule.Knobs) { k.IsProtectedPath = endsIn(".md") }), "[]"},
		{"another tool and path are protected", twice, with(func(k *rule.Knobs) { k.IsProtectedTool, k.IsProtectedPath = is("grep"), endsIn(".go") }), "[{2 drop}]"},
	})
}
