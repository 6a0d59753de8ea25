package rule_test

import (
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
)

func TestEmptyShells(t *testing.T) {
	goneText, goneCall := text(9).edited(frozen.Drop), call("read", 9).edited(frozen.Drop)
	notice := text(9).knowing(rule.Facts{Notice: true})
	marked := goneText
	marked.unit.IsShell = true
	k := rule.Knobs{ProtectedTags: 1}
	young := func(m turn) rule.View { return conversation(m, user(text(9))) }
	old := func(m turn) rule.View { return conversation(m, user(text(9)), user(text(9))) }

	testRule(t, rule.EmptyShells, []ruleCase{
		{"all its texts are dropped", young(assistant(goneText, goneText)), k, "[{1 shell}]"},
		{"and its calls are gone", young(assistant(goneCall, goneText)), k, "[{2 shell}]"},
		{"a message of calls alone vanishes by itself", young(assistant(goneCall)), k, "[]"},
		{"something is left", young(assistant(goneText, text(9))), k, "[]"},
		{"a skeleton is something", young(assistant(goneText, call("read", 9).edited(frozen.Skeleton))), k, "[]"},
		{"a call is", young(assistant(goneText, call("read", 9))), k, "[]"},
		{"a file is (B7)", young(assistant(goneText, file())), k, "[]"},
		{"its placeholder is, too", young(assistant(goneText, file().edited(frozen.Drop))), k, "[]"},
		{"what is neither unit nor reasoning is", young(assistant(goneText).undroppable()), k, "[]"},
		{"reasoning that may go is not", young(assistant(goneText).thinking()), k, "[{1 shell}]"},
		{"the user's message (B2)", young(user(goneText)), k, "[]"},
		{"decided already", young(assistant(marked)), k, "[]"},
		{"no units at all", young(assistant()), k, "[]"},

		{"an old notice", old(assistant(notice)), k, "[{1 shell}]"},
		{"a young notice", young(assistant(notice)), k, "[]"},
		{"twice the protected tags count in messages", old(assistant(notice)), rule.Knobs{ProtectedTags: 2}, "[]"},
		{"a notice beside words", old(assistant(notice, text(9))), k, "[]"},
		{"a notice beside a call that went", old(assistant(notice, goneCall)), k, "[]"},
		{"a notice that was thought about", old(assistant(notice).thinking()), k, "[]"},
		{"the user's notice", old(user(notice)), k, "[]"},
	})
}

// Bug F4: the only text of the newest answer had been dropped, so the host removed the answer as a shell. An older step
// with calls then became the last answer. It did not begin with thinking, so the provider refused the request.
func TestAnswerThatEndsATurnIsNoShellWhileTheModelReasons(t *testing.T) {
	gone := text(9).edited(frozen.Drop)
	reasoned := func(messages ...turn) rule.View {
		v := conversation(messages...)
		v.Messages[0].Reasons = true
		return v
	}
	k := rule.Knobs{ProtectedTags: 1}
	testRule(t, rule.EmptyShells, []ruleCase{
		{"the user speaks next", reasoned(assistant(gone), user(text(9))), k, "[]"},
		{"nobody speaks next", reasoned(assistant(gone)), k, "[]"},
		{"the turn goes on", reasoned(assistant(gone), assistant(text(9))), k, "[{1 shell}]"},
		{"a model that does not reason", conversation(assistant(gone), user(text(9))), k, "[{1 shell}]"},
	})
}
