package config

import "testing"

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
	} {
		if got := MatchesPath([]string{c.pattern}, project, c.path); got != c.want {
			t.Errorf("%q on %q: %v", c.pattern, c.path, got)
		}
	}
	if !MatchesName([]string{"plan_*", "task"}, "plan_enter") || MatchesName([]string{"plan_*", "task"}, "tasks") {
		t.Error("tool names")
	}
}
