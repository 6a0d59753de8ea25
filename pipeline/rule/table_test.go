package rule_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
)

func propose(v rule.View, table ...rule.Rule) rule.Proposal {
	before := rule.Table
	defer func() { rule.Table = before }()
	rule.Table = table
	return rule.Propose(v, rule.Knobs{})
}

// drops returns a rule that drops the given tags. Each time a pass asks the rule, it appends a line to `asked`: the
// rule's name, and the number of tokens that the pass still needs to free.
func drops(name string, on rule.Occasion, asked *[]string, tags ...int) rule.Rule {
	return rule.Rule{Name: name, On: on, Propose: func(v rule.View, _ rule.Knobs) []frozen.Edit {
		*asked = append(*asked, fmt.Sprintf("%s for %d", name, v.Need))
		var edits []frozen.Edit
		for _, tag := range tags {
			edits = append(edits, frozen.Edit{Tag: tag, Kind: frozen.Drop})
		}
		return edits
	}}
}

func TestRulesEscalateOnlyAsFarAsNeeded(t *testing.T) {
	hundred := call("read", 100)
	view := func(occasion rule.Occasion, target int) rule.View {
		v := conversation(assistant(many(5, hundred)...), user())
		v.Occasion, v.Goal = occasion, rule.Goal{Current: 1000, Ceiling: 850, Target: target}
		return v
	}
	for _, c := range []struct {
		name  string
		view  rule.View
		asked []string
		freed int
	}{
		{"a bust for another reason", view(rule.AnyBust, 600), []string{"any for 400", "last for 300"}, 100},
		{"pressure", view(rule.Pressure, 600), []string{"any for 400", "pressure for 300", "last for 200"}, 200},
		{"force", view(rule.Force, 600), []string{"any for 400", "pressure for 300", "force for 200", "last for 100"}, 300},
		// 300 freed tokens bring the prompt below the ceiling.
		{"an emergency", view(rule.Emergency, 600), []string{"any for 400", "pressure for 300", "force for 200", "last for 100"}, 300},
		{"an emergency that is not over", view(rule.Emergency, 0), []string{"any for 1000", "pressure for 900", "force for 800", "last for 700"}, 300},
		{"enough after the first", view(rule.Emergency, 900), []string{"any for 100", "last for 0"}, 100},
		{"nothing is needed at all", view(rule.Emergency, 1000), []string{"any for 0", "last for -100"}, 100},
		{"enough after the second", view(rule.Emergency, 800), []string{"any for 200", "pressure for 100", "last for 0"}, 200},
	} {
		var asked []string
		p := propose(
			c.view,
			drops("any", rule.AnyBust, &asked, 1), drops("pressure", rule.Pressure, &asked, 2), drops("force", rule.Force, &asked, 3),
			drops("emergency", rule.Emergency, &asked, 4), drops("last", rule.AnyBust, &asked),
		)
		if !slices.Equal(asked, c.asked) || p.Freed != c.freed {
			t.Errorf("%s: asked %q and freed %d; want %q and %d", c.name, asked, p.Freed, c.asked, c.freed)
		}
	}
}

func TestEmergencyGoesBackToTheCeiling(t *testing.T) {
	v := conversation(assistant(many(5, call("read", 100))...))
	v.Occasion = rule.Emergency
	for _, c := range []struct {
		goal rule.Goal
		want []string
	}{
		{rule.Goal{Current: 1000, Ceiling: 700, Target: 400}, []string{"emergency for 300"}},
		{rule.Goal{Current: 1000, Ceiling: 400, Target: 700}, []string{"emergency for 300"}},
		{rule.Goal{Current: 700, Ceiling: 700, Target: 400}, nil},
	} {
		var asked []string
		v.Goal = c.goal
		propose(v, drops("emergency", rule.Emergency, &asked, 1))
		if !slices.Equal(asked, c.want) {
			t.Errorf("%+v: asked %q, want %q", c.goal, asked, c.want)
		}
	}
}

func TestNothingIsFreedTwice(t *testing.T) {
	v := conversation(assistant(call("read", 100), call("read", 100)), user(text(100)))
	edits := func(name string, list ...frozen.Edit) rule.Rule {
		return rule.Rule{Name: name, Propose: func(rule.View, rule.Knobs) []frozen.Edit { return list }}
	}
	p := propose(
		v,
		edits("skeletons", frozen.Edit{Tag: 1, Kind: frozen.Skeleton}, frozen.Edit{Tag: 1, Kind: frozen.Skeleton}),
		edits("drops", frozen.Edit{Tag: 1, Kind: frozen.Drop}, frozen.Edit{Tag: 2, Kind: frozen.Drop}, frozen.Edit{Tag: 99, Kind: frozen.Drop}),
		edits("late", frozen.Edit{Tag: 1, Kind: frozen.Clamp}, frozen.Edit{Tag: 2, Kind: frozen.Skeleton}, frozen.Edit{Tag: 3, Kind: frozen.Strip}),
	)
	// The call has 100 tokens. Its skeleton frees 92 of them, because the placeholder takes 8. The later drop frees
	// these 8.
	if got, want := fmt.Sprint(p.Edits), "[{1 skeleton} {1 drop} {2 drop} {3 strip}]"; got != want {
		t.Errorf("edits %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(p.By), "map[drops:108 skeletons:92]"; p.Freed != 200 || got != want {
		t.Errorf("freed %d, by %s; want 200, %s", p.Freed, got, want)
	}
}

func TestOrderOfTheTable(t *testing.T) {
	at := make(map[string]int)
	for i, r := range rule.Table {
		if _, twice := at[r.Name]; twice {
			t.Errorf("two rules are named %q", r.Name)
		}
		at[r.Name] = i
	}
	for _, c := range []struct{ before, after, why string }{
		{"queued drops", "duplicate calls", "the mode of a drop that was asked for is the queue's to choose"},
		{"queued drops", "processed images", "images are judged by what is dropped"},
		{"duplicate calls", "superseded writes", "a call that goes need not be shortened first"},
		{"old text", "tool reclaim", "what loses nothing is counted before anything is taken"},
		{"tool reclaim", "tiered drop", "tools with grace go before tools without"},
		{"old skeletons", "tiered drop", "what says nothing goes before what says something"},
		{"tiered drop", "spent narration", "narration is spent when its tools are gone"},
		{"spent narration", "protected results", "what age protects is the last resort"},
		{"protected results", "oldest texts", "tools go before words"},
		{"oldest texts", "unfit content", "what the model has read goes before what it has not"},
		{"unfit content", "kept pieces", "what the user keeps goes after everything else"},
		{"oldest texts", "spent reasoning", "reasoning is spent when its text is gone"},
		{"oldest texts", "empty shells", "a shell is what all others have left"},
	} {
		i, known := at[c.before]
		j, knownToo := at[c.after]
		if !known || !knownToo || i >= j {
			t.Errorf("%q is not before %q: %s", c.before, c.after, c.why)
		}
	}
	for _, r := range rule.Table {
		want := rule.AnyBust
		switch r.Name {
		case "tool reclaim", "spent narration", "spent reasoning":
			want = rule.Pressure
		case "old skeletons", "tiered drop":
			want = rule.Force
		case "protected results", "oldest texts", "unfit content", "kept pieces":
			want = rule.Emergency
		}
		if r.On != want {
			t.Errorf("%q is asked from occasion %d on, want %d", r.Name, r.On, want)
		}
	}
}

func TestYoungSessionIsLeftAlone(t *testing.T) {
	v := conversation(user(text(100), file()), assistant(text(100), call("read", 500)), user(text(100)))
	k := rule.Knobs{ProtectedTags: 20, ReasoningAge: 50, Deduplicate: true, ClampSupersededWrites: true, ClampOldErrors: true, DropsStaleReduceCalls: true}
	if p := rule.Propose(v, k); len(p.Edits) > 0 || p.Freed != 0 {
		t.Errorf("edits %v, freed %d", p.Edits, p.Freed)
	}
}
