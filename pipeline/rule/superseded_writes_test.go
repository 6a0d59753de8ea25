package rule_test

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
)

func TestSupersededWrites(t *testing.T) {
	fact := func(path string) rule.Facts { return rule.Facts{Path: path, Writes: true, LongInput: true} }
	write, writeB := call("write", 5).knowing(fact("/a")), call("write", 5).knowing(fact("/b"))
	short := call("write", 5).knowing(rule.Facts{Path: "/a", Writes: true})
	edit := call("edit", 5).knowing(rule.Facts{Path: "/a", LongInput: true})
	read := call("read", 50).knowing(rule.Facts{Path: "/a"})
	failed := call("read", 50).knowing(rule.Facts{Path: "/a", Failed: true})
	open := call("read", 50).knowing(rule.Facts{Path: "/a", Open: true})
	on := rule.Knobs{ClampSupersededWrites: true, ProtectedTags: 1}
	with := func(change func(*rule.Knobs)) rule.Knobs { k := on; change(&k); return k }
	steps := func(calls ...part) rule.View {
		var turns []turn
		for _, c := range calls {
			turns = append(turns, assistant(c))
		}
		return conversation(append(turns, user(text(1)))...)
	}

	testRule(t, rule.SupersededWrites, []ruleCase{
		{"read again later", steps(write, read), on, "[{1 clamp}]"},
		{"switched off", steps(write, read), rule.Knobs{ProtectedTags: 1}, "[]"},
		{"edited later", steps(write, edit), on, "[{1 clamp}]"},
		{"written again and again", steps(write, write, write), on, "[{1 clamp} {2 clamp}]"},
		{"never seen again", steps(write, writeB), on, "[]"},
		{"read before", steps(read, write), on, "[]"},
		{"the later call failed", steps(write, failed), on, "[]"},
		{"the later call has no result", steps(write, open), on, "[]"},
		{"what the later call said is gone", steps(write, read.edited(frozen.Drop)), on, "[]"},
		{"short arguments stay", steps(short, read), on, "[]"},
		{"an edit is no copy of the file", steps(edit, read), on, "[]"},
		{"a write that failed", steps(call("write", 5).knowing(rule.Facts{Path: "/a", Writes: true, LongInput: true, Failed: true}), read), on, "[]"},
		{"a write of nobody knows what", steps(call("write", 5).knowing(rule.Facts{Writes: true, LongInput: true}), read), on, "[]"},
		{"shortened already", steps(write.edited(frozen.Clamp), read), on, "[]"},
		{"dropped already", steps(write.edited(frozen.Drop), read), on, "[]"},
		{"age protects", steps(write, read), with(func(k *rule.Knobs) { k.ProtectedTags = 3 }), "[]"},
		{"the newest step is protected", steps(write, read), with(func(k *rule.Knobs) { k.TurnProtection = 1 }), "[{1 clamp}]"},
		{"the newest two are", steps(write, read), with(func(k *rule.Knobs) { k.TurnProtection = 2 }), "[]"},
		{"a protected tool", steps(write, read), with(func(k *rule.Knobs) { k.IsProtectedTool = is("write") }), "[]"},
		{"a protected path", steps(write, read), with(func(k *rule.Knobs) { k.IsProtectedPath = is("/a") }), "[]"},
	})
}
