package rule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
)

type part struct {
	unit     frozen.Unit
	facts    rule.Facts
	isQueued bool
}

func text(tokens int) part {
	return part{unit: frozen.Unit{Kind: frozen.TextUnit, Tokens: tokens, Bytes: 4 * tokens}}
}

func file() part { return part{unit: frozen.Unit{Kind: frozen.FileUnit, Tokens: 1200}} }

func call(tool string, tokens int) part {
	return part{unit: frozen.Unit{Kind: frozen.ToolUnit, Tool: tool, Tokens: tokens}}
}

func (p part) edited(kind frozen.EditKind) part { p.unit.Edit = kind; return p }

func (p part) queued() part { p.isQueued = true; return p }

func (p part) knowing(f rule.Facts) part { p.facts = f; return p }

type turn struct {
	message rule.Message
	parts   []part
}

func user(parts ...part) turn      { return turn{rule.Message{Role: rule.User}, parts} }
func assistant(parts ...part) turn { return turn{rule.Message{Role: rule.Assistant}, parts} }

func (m turn) thinking() turn    { m.message.Thinks = true; return m }
func (m turn) signed() turn      { m.message.Signed = true; return m }
func (m turn) undroppable() turn { m.message.HasUndroppable = true; return m }

func conversation(turns ...turn) rule.View {
	var v rule.View
	var units []frozen.Unit
	var queue []frozen.QueuedDrop
	step := 0
	for _, m := range turns {
		if m.message.Role == rule.Assistant {
			step++
		}
		m.message.Step = step
		for _, p := range m.parts {
			p.unit.Tag = len(units) + 1
			p.unit.Key = fmt.Sprint(p.unit.Tag)
			units = append(units, p.unit)
			if p.isQueued {
				queue = append(queue, frozen.QueuedDrop{Tag: p.unit.Tag, Key: p.unit.Key})
			}
			m.message.Items = append(m.message.Items, rule.Item{Tag: p.unit.Tag, Facts: p.facts})
		}
		v.Messages = append(v.Messages, m.message)
	}
	v.State = frozen.NewState(0, units, nil, queue).With(frozen.Additions{})
	return v
}

func needing(tokens int, v rule.View) rule.View { v.Need = tokens; return v }

type ruleCase struct {
	name  string
	view  rule.View
	knobs rule.Knobs
	want  string
}

func testRule(t *testing.T, propose func(rule.View, rule.Knobs) []frozen.Edit, cases []ruleCase) {
	t.Helper()
	for _, c := range cases {
		if got := fmt.Sprint(propose(c.view, c.knobs)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func is(want string) func(string) bool { return func(name string) bool { return name == want } }

func endsIn(suffix string) func(string) bool {
	return func(path string) bool { return strings.HasSuffix(path, suffix) }
}

func many(n int, p part) []part { return slices.Repeat([]part{p}, n) }

// Bug J10: Claude refuses a request whose last step with calls lacks its thinking. The host had removed one call of an
// older step, and with the call the step's thinking. After the user's next prompt, it removed all calls of the newest
// step, a step without thinking. So the older step became the last step with calls. Its thinking was gone, and Claude
// refused the request.
func TestNewestStepWithoutThinkingKeepsItsCalls(t *testing.T) {
	a, b := call("read", 100), call("grep", 100)
	for name, c := range map[string]struct {
		view rule.View
		want frozen.EditKind
	}{
		"after a step with thinking":           {conversation(assistant(a, a).signed(), assistant(b), user()), frozen.Skeleton},
		"with a step without thinking between": {conversation(assistant(a).signed(), assistant(a), assistant(b), user()), frozen.Skeleton},
		"in a turn without thinking":           {conversation(assistant(a), assistant(a), assistant(b), user()), frozen.Drop},
		"after another turn's thinking":        {conversation(assistant(a, a).signed(), user(), assistant(b), user()), frozen.Drop},
	} {
		last := c.view.Messages[len(c.view.Messages)-2].Items[0].Tag
		var asked []string
		if p := propose(c.view, drops("all", rule.AnyBust, &asked, last)); len(p.Edits) != 1 || p.Edits[0].Kind != c.want {
			t.Errorf("%s: the edits are %v, not %s of %d", name, p.Edits, c.want, last)
		}
	}
}
