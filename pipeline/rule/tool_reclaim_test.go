package rule_test

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
)

func TestToolReclaim(t *testing.T) {
	read := call("read", 100)
	k := rule.Knobs{ProtectedTags: 1}
	graced := func(tag int, v rule.View) rule.View { v.ReclaimUpTo = tag; return v }
	three := func() rule.View { return conversation(assistant(read, read, read), user(text(1))) }
	queued := graced(4, conversation(assistant(read, read.queued(), read), user(text(1))))
	invisible := graced(4, three())
	invisible.Messages = invisible.Messages[1:]
	// Of these 21 tool calls, only the oldest is outside the skeleton window.
	long := graced(22, conversation(assistant(many(21, read)...), user(text(1))))

	testRule(t, rule.ToolReclaim, []ruleCase{
		{"the first pass only starts the grace", needing(1000, three()), k, "[]"},
		{"what had its grace goes", needing(1000, graced(2, three())), k, "[{1 skeleton} {2 skeleton}]"},
		{"the oldest first, until enough is free", needing(100, graced(4, three())), k, "[{1 skeleton} {2 skeleton}]"}, // each frees 92 tokens
		{"nothing is needed", needing(0, graced(4, three())), k, "[]"},
		{"a recent tool leaves a skeleton, an older one nothing", needing(101, long), k, "[{1 drop} {2 skeleton}]"},
		{"age protects", needing(1000, graced(4, three())), rule.Knobs{ProtectedTags: 3}, "[{1 skeleton}]"},
		{"with fewer units than that all are protected", needing(1000, graced(4, three())), rule.Knobs{ProtectedTags: 5}, "[]"},
		{"texts stay", needing(1000, graced(4, conversation(user(text(500)), assistant(read), user(text(1))))), k, "[{2 skeleton}]"},
		{"what the model has marked is its own affair", needing(1000, queued), k, "[{1 skeleton} {3 skeleton}]"},
		{"a call without result", needing(1000, graced(4, conversation(assistant(read.knowing(rule.Facts{Open: true}), read), user(text(1))))), k, "[{2 skeleton}]"},
		{"what is gone is gone", needing(1000, graced(4, conversation(assistant(read.edited(frozen.Skeleton), read.edited(frozen.Drop), read), user(text(1))))), k, "[{3 skeleton}]"},
		{"what is not there (B16)", needing(1000, invisible), k, "[]"},
		{"a protected path", needing(1000, graced(4, conversation(assistant(read.knowing(rule.Facts{Path: "/plan.md"}), read), user(text(1))))), rule.Knobs{ProtectedTags: 1, IsProtectedPath: endsIn(".md")}, "[{2 skeleton}]"},
		{"a protected tool is only safe from the rules without need", needing(1000, graced(2, three())), rule.Knobs{ProtectedTags: 1, IsProtectedTool: is("read")}, "[{1 skeleton} {2 skeleton}]"},
	})
}
