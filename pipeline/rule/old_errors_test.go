package rule_test

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
)

func TestOldErrors(t *testing.T) {
	failed := call("edit", 5).knowing(rule.Facts{Failed: true, LongInput: true, Path: "/a"})
	short := call("edit", 5).knowing(rule.Facts{Failed: true})
	fine := call("edit", 5).knowing(rule.Facts{LongInput: true})
	on := rule.Knobs{ClampOldErrors: true, ProtectedTags: 1, ErrorSteps: 2}
	with := func(change func(*rule.Knobs)) rule.Knobs { k := on; change(&k); return k }
	later := func(p part, steps int) rule.View {
		turns := []turn{assistant(p)}
		for range steps {
			turns = append(turns, assistant(text(1)))
		}
		return conversation(turns...)
	}

	testRule(t, rule.OldErrors, []ruleCase{
		{"one step later", later(failed, 1), on, "[]"},
		{"two steps later", later(failed, 2), on, "[{1 clamp}]"},
		{"switched off", later(failed, 2), rule.Knobs{ProtectedTags: 1, ErrorSteps: 2}, "[]"},
		{"without an age of its own, one step later", later(failed, 1), with(func(k *rule.Knobs) { k.ErrorSteps = 0 }), "[{1 clamp}]"},
		{"but never at once", conversation(assistant(failed, text(1))), with(func(k *rule.Knobs) { k.ErrorSteps = 0 }), "[]"},
		{"the longer protection counts", later(failed, 2), with(func(k *rule.Knobs) { k.TurnProtection = 3 }), "[]"},
		{"until it ends", later(failed, 3), with(func(k *rule.Knobs) { k.TurnProtection = 3 }), "[{1 clamp}]"},
		{"age in tags protects, too", later(failed, 2), with(func(k *rule.Knobs) { k.ProtectedTags = 3 }), "[]"},
		{"short arguments stay", later(short, 2), on, "[]"},
		{"a call that worked", later(fine, 2), on, "[]"},
		{"shortened already", later(failed.edited(frozen.Clamp), 2), on, "[]"},
		{"a skeleton", later(failed.edited(frozen.Skeleton), 2), on, "[]"},
		{"a protected tool", later(failed, 2), with(func(k *rule.Knobs) { k.IsProtectedTool = is("edit") }), "[]"},
		{"a protected path", later(failed, 2), with(func(k *rule.Knobs) { k.IsProtectedPath = is("/a") }), "[]"},
	})
}
