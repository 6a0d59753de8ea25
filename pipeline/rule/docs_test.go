package rule_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/rule"
)

// The first table of docs/rules.md lists the rules that every bust asks. The second lists the rules that free space,
// each with the pressure from which it is asked.
func TestDocsDescribeEachRule(t *testing.T) {
	page, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	const header = `\| rule \|[^\n]*\n\| ---[^\n]*\n`
	tables := regexp.MustCompile(header).Split(string(page), -1)
	if len(tables) != 3 {
		t.Fatalf("docs/rules.md has %d tables of rules, want 2", len(tables)-1)
	}
	var want, got [2][]string
	for _, r := range rule.Table {
		if r.On == rule.AnyBust {
			want[0] = append(want[0], r.Name)
			continue
		}
		want[1] = append(want[1], r.Name)
	}
	pressure := map[string]string{}
	for i, table := range tables[1:] {
		rows, _, _ := strings.Cut(table, "\n\n")
		for row := range strings.Lines(rows) {
			cells := strings.Split(row, " | ")
			name := strings.TrimSuffix(strings.TrimPrefix(cells[0], "| "), " (asked last of all)")
			got[i] = append(got[i], name)
			pressure[name] = cells[2]
		}
	}
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("table %d of docs/rules.md describes %q, want %q", i+1, got[i], want[i])
		}
	}
	starts := map[rule.Occasion]string{rule.Pressure: "`execute_threshold_percentage`", rule.Force: "85 %", rule.Emergency: "95 %"}
	for _, r := range rule.Table {
		if !strings.HasPrefix(pressure[r.Name], starts[r.On]) {
			t.Errorf("docs/rules.md says that %q is asked from %q on, want %s", r.Name, pressure[r.Name], starts[r.On])
		}
	}
}
