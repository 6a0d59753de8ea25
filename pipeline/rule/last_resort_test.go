package rule_test

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
)

func TestProtectedResults(t *testing.T) {
	read := call("read", 100)
	read5 := assistant(many(5, read)...)
	testRule(t, rule.ProtectedResults, []ruleCase{
		{"the newest three stay", needing(999, conversation(read5, user(text(1)))), rule.Knobs{ProtectedTags: 99}, "[{1 drop} {2 drop}]"},
		{"no more than is needed", needing(100, conversation(read5, user(text(1)))), rule.Knobs{}, "[{1 drop}]"},
		{"one token more", needing(101, conversation(read5, user(text(1)))), rule.Knobs{}, "[{1 drop} {2 drop}]"},
		{"nothing is needed", needing(0, conversation(read5, user(text(1)))), rule.Knobs{}, "[]"},
		{"results that the model has not read stay", needing(999, conversation(assistant(read), user(text(1)), read5)), rule.Knobs{}, "[{1 drop}]"},
		{"dropped tools count among the newest three", needing(999, conversation(assistant(append(many(3, read), many(2, read.edited(frozen.Drop))...)...), user(text(1)))), rule.Knobs{}, "[{1 drop} {2 drop}]"},
		{"a skeleton is not dropped by age's last resort", needing(999, conversation(assistant(append([]part{read.edited(frozen.Skeleton)}, many(4, read)...)...), user(text(1)))), rule.Knobs{}, "[{2 drop}]"},
		{"a call without result", needing(999, conversation(assistant(append([]part{read.knowing(rule.Facts{Open: true})}, many(4, read)...)...), user(text(1)))), rule.Knobs{}, "[{2 drop}]"},
		{"texts", needing(999, conversation(assistant(append([]part{text(900)}, many(3, read)...)...), user(text(1)))), rule.Knobs{}, "[]"},
	})
}

func TestUnfitContent(t *testing.T) {
	unfit := func(need int, c rule.View) rule.View {
		v := needing(need, c)
		v.Goal.Ceiling, v.Goal.Fit = 1, 1
		return v
	}
	small, large := call("read", 100), call("read", 5000)
	write := call("write", 10).knowing(rule.Facts{LongInput: true})
	write.unit.InputTokens = 2000 // 125 of them stay on the wire
	left := write.edited(frozen.Withhold)
	said, typed := user(text(1)), text(5000).knowing(rule.Facts{Typed: true})
	testRule(t, rule.UnfitContent, []ruleCase{
		{"the largest first, even unread", unfit(4000, conversation(said, assistant(small, large, small))), rule.Knobs{ProtectedTags: 99}, "[{3 withhold}]"},
		{"then the oldest", unfit(5000, conversation(said, assistant(small, large, small))), rule.Knobs{}, "[{3 withhold} {2 withhold}]"},
		{"a request that may fit", needing(4000, conversation(said, assistant(small, large))), rule.Knobs{}, "[]"},
		{"nothing is needed", unfit(0, conversation(said, assistant(large))), rule.Knobs{}, "[]"},
		{"a call without result", unfit(9000, conversation(said, assistant(large.knowing(rule.Facts{Open: true}), small))), rule.Knobs{}, "[{3 withhold}]"},
		{"an output that is not on the wire", unfit(9000, conversation(said, assistant(large.edited(frozen.Skeleton), small))), rule.Knobs{}, "[{3 withhold}]"},
		{"an output no longer than its placeholder", unfit(9000, conversation(said, assistant(call("read", 40)))), rule.Knobs{}, "[]"},
		{"long arguments", unfit(1000, conversation(said, assistant(small, write))), rule.Knobs{}, "[{3 clamp}]"},
		{"the largest first, outputs or arguments", unfit(5000, conversation(said, assistant(write, large))), rule.Knobs{}, "[{3 withhold} {2 clamp}]"},
		{"the arguments of a call whose output is withheld", unfit(1000, conversation(said, assistant(left))), rule.Knobs{}, "[{2 clamp}]"},
		{"texts after calls, the largest first", unfit(9000, conversation(user(text(100)), assistant(text(900)), said, assistant(small))), rule.Knobs{ProtectedTags: 99}, "[{4 withhold} {2 drop} {1 drop}]"},
		{"no more of them than is needed", unfit(800, conversation(user(text(100)), assistant(text(900)), said)), rule.Knobs{ProtectedTags: 99}, "[{2 drop}]"},
		{"what the user has typed last stays", unfit(9999, conversation(user(typed), assistant(text(900)), user(typed, text(700)))), rule.Knobs{}, "[{1 drop} {2 drop} {4 withhold}]"},
		{"a file beside words that the model has answered", unfit(9999, conversation(user(typed, text(700)), assistant(text(3)))), rule.Knobs{}, "[{2 drop}]"},
		{"the texts of the newest step stay", unfit(9999, conversation(said, assistant(text(900), small))), rule.Knobs{}, "[{3 withhold}]"},
	})
}

func TestOldestTexts(t *testing.T) {
	k := rule.Knobs{ProtectedTags: 1}
	testRule(t, rule.OldestTexts, []ruleCase{
		{"the oldest first, whoever said them, until enough is free", needing(93, conversation(user(text(100)), assistant(text(100)), assistant(text(100)), user(text(1)))), k, "[{1 drop} {2 drop}]"}, // each frees 92 tokens
		{"nothing is needed", needing(0, conversation(user(text(100)), user(text(1)))), k, "[]"},
		{"the user's newest message stays, and what came after it", needing(9999, conversation(user(text(100)), user(text(100), file()), assistant(text(100)), assistant(text(1)))), k, "[{1 drop}]"},
		{"also if age protects less of it", needing(9999, conversation(user(text(100)), user(text(100)), assistant(text(100), text(100)))), k, "[{1 drop}]"},
		{"age protects", needing(9999, conversation(user(text(100)), user(text(100)), user(text(1)))), rule.Knobs{ProtectedTags: 2}, "[{1 drop}]"},
		{"files are texts here", needing(9999, conversation(user(file()), user(text(1)))), k, "[{1 drop}]"},
		{"tools are not", needing(9999, conversation(assistant(call("read", 900)), user(text(1)))), k, "[]"},
		{"a text no longer than its placeholder", needing(9999, conversation(user(text(8)), user(text(1)))), k, "[]"},
		{"what is dropped is dropped", needing(9999, conversation(user(text(100).edited(frozen.Drop)), user(text(1)))), k, "[]"},
	})
}
