package config

import (
	"strings"
	"testing"
)

func TestMatchesPath(t *testing.T) {
	const project = "/home/a/project"
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"docs/plan/**", "/home/a/project/docs/plan/x/y.md", true},
		{"docs/plan/**", "docs/plan/y.md", true},
		{"/home/a/project/*.md", "/home/a/project/README.md", true},
		{"**/AGENTS.md", "/elsewhere/AGENTS.md", true},
		{"*.md", "/home/a/project/docs/x.md", false},
		{"docs/*.md", "/home/a/project/docs/x.md", true},
		{"docs/?.md", "/home/a/project/docs/xy.md", false},
		{"../other/**", "/home/a/other/x", false},
		{"[", "/home/a/project/[", false},
		{"docs/**", "docs", true},
		{"**", "/any/where", true},
		{"docs/**/x", "docs/x", true},
		{"docs/**/x", "docs/a/b/x", true},
		{"docs**", "docs/a", false},
		{"{docs/**,src/*.go}", "src/a.go", true},
		{"{docs/**,src/*.go}", "docs/a/b", true},
		{"{docs/**,src/*.go}", "src/a/b.go", false},
		{"{**/a,b}/c", "x/y/a/c", true},
		{"[a-c]?.md", "bx.md", true},
		{"[!a-c]x.md", "bx.md", false},
		{"[!a-c]x.md", "/x.md", false},
		{`\*.md`, "*.md", true},
		{`\*.md`, "a.md", false},
		{"a.md", "aXmd", false},
		{"grün*", "grüner", true},
		{"a,b", "a,b", true},
		{"a}", "a}", false},
		{"{a", "{a", false},
	} {
		if got := CompilePatterns([]string{c.pattern}).MatchPath(project, c.path); got != c.want {
			t.Errorf("%q on %q: %v", c.pattern, c.path, got)
		}
	}
	tools := CompilePatterns([]string{"plan_*", "task"})
	if !tools.MatchName("plan_enter") || tools.MatchName("tasks") {
		t.Error("tool names")
	}
}

// A cloned repository may list very many or very long patterns, to make matching slow. The host ignores patterns beyond
// its bounds, and the other patterns must stay in effect.
func TestHostileClonePatternsAreBounded(t *testing.T) {
	many := make([]string, maxPatterns, maxPatterns+1)
	for i := range many {
		many[i] = "a"
	}
	for name, list := range map[string][]string{
		"number":              append(many, "x"),
		"length":              {"a", "x" + strings.Repeat("*", maxPatternBytes)},
		"alternatives":        {"a", strings.Repeat("{x,}", 6)},
		"nested alternatives": {"a", strings.Repeat("{x,", maxAlternatives) + strings.Repeat("}", maxAlternatives)},
	} {
		p := CompilePatterns(list)
		if p.MatchName("x") {
			t.Errorf("%s: a pattern beyond the bound counts", name)
		}
		if !p.MatchName("a") {
			t.Errorf("%s: a pattern within the bound does not count", name)
		}
	}
	if CompilePatterns([]string{"**"}).MatchName(strings.Repeat("x", maxNameBytes+1)) {
		t.Error("a name that no system opens was matched")
	}
}
