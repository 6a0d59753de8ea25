package rule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
)

// A part is a unit in the making.
type part struct {
	unit  frozen.Unit
	facts rule.Facts
}

func text(tokens int) part {
	return part{unit: frozen.Unit{Kind: frozen.TextUnit, Tokens: tokens, Bytes: 4 * tokens}}
}

func file() part { return part{unit: frozen.Unit{Kind: frozen.FileUnit, Tokens: 1200}} }

func call(tool string, tokens int) part {
	return part{unit: frozen.Unit{Kind: frozen.ToolUnit, Tool: tool, Tokens: tokens}}
}

// edited is the part after an edit, with what is known of its content.
func (p part) edited(kind frozen.EditKind) part { p.unit.Edit = kind; return p }

func (p part) knowing(f rule.Facts) part { p.facts = f; return p }

// A turn is a message in the making.
type turn struct {
	message rule.Message
	parts   []part
}

func user(parts ...part) turn      { return turn{rule.Message{Role: rule.User}, parts} }
func assistant(parts ...part) turn { return turn{rule.Message{Role: rule.Assistant}, parts} }

func (m turn) thinking() turn { m.message.Thinks = true; return m }
func (m turn) solid() turn    { m.message.Solid = true; return m }

// conversation is the view of these messages. Tags count from 1 through all
// parts, steps through the assistant's messages.
func conversation(turns ...turn) rule.View {
	var v rule.View
	var units []frozen.Unit
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
			m.message.Items = append(m.message.Items, rule.Item{Tag: p.unit.Tag, Facts: p.facts})
		}
		v.Messages = append(v.Messages, m.message)
	}
	v.State = frozen.NewState(0, units, nil, nil)
	return v
}

// needing is the view in which so many tokens are still to be freed.
func needing(tokens int, v rule.View) rule.View { v.Need = tokens; return v }

// A ruleCase is what a rule proposes in a view, as text.
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

// is reports whether a name is the wanted one, as a protection of the user's.
func is(want string) func(string) bool { return func(name string) bool { return name == want } }

// endsIn reports whether a path ends so.
func endsIn(suffix string) func(string) bool {
	return func(path string) bool { return strings.HasSuffix(path, suffix) }
}

// many is n times the same part, for the windows that are counted in tools.
func many(n int, p part) []part { return slices.Repeat([]part{p}, n) }
