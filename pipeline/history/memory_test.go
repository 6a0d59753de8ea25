package history_test

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline/history"
)

// The function `hundred` counts every text as 100 tokens, so that a budget is a number of lines.
func hundred(string) int { return 100 }

func shownMemories(budget int, memories ...chronicle.Memory) []int64 {
	return history.Baseline(history.BaselineInput{Memories: memories, MemoryBudget: budget, CountText: hundred}).Memories
}

func TestMemoriesAreChosenByWorth(t *testing.T) {
	all := []chronicle.Memory{
		{ID: 1, Importance: 50},
		{ID: 2, Importance: 90},
		{ID: 3, Permanent: true, Importance: 1},
		{ID: 4, Importance: 50},
		{ID: 5},
	}
	for _, c := range []struct {
		budget int
		want   []int64
	}{
		{125, nil},
		{126, []int64{3}},
		{226, []int64{2, 3}},
		{326, []int64{2, 3, 4}}, // memories 1 and 4 have the same importance, so the newer one is chosen
		{426, []int64{1, 2, 3, 4}},
		{526, []int64{1, 2, 3, 4, 5}},
	} {
		if got := shownMemories(c.budget, all...); !reflect.DeepEqual(got, c.want) {
			t.Errorf("budget %d: %v, want %v", c.budget, got, c.want)
		}
	}
}

func TestMemoryThatDoesNotFitIsSkipped(t *testing.T) {
	memories := []chronicle.Memory{
		{ID: 1, Importance: 90, Content: strings.Repeat("word ", 500)},
		{ID: 2, Importance: 10, Content: "short"},
	}
	got := history.Baseline(history.BaselineInput{Memories: memories, MemoryBudget: 200, CountText: tokens.Count})
	if !reflect.DeepEqual(got.Memories, []int64{2}) {
		t.Errorf("%v", got.Memories)
	}
}

func TestMemoriesAreShownByCategory(t *testing.T) {
	order := []string{
		"PROJECT_RULES", "ARCHITECTURE", "CONSTRAINTS", "CONFIG_VALUES", "NAMING", "USER_DIRECTIVES", "USER_PREFERENCES",
		"CONFIG_DEFAULTS", "ARCHITECTURE_DECISIONS", "ENVIRONMENT", "WORKFLOW_RULES", "KNOWN_ISSUES", "SOMETHING_ELSE",
	}
	var memories []chronicle.Memory
	var want []int64
	for i, category := range order {
		memories = append(memories, chronicle.Memory{ID: int64(100 - i), Category: category, Importance: i + 1})
		want = append(want, int64(100-i))
	}
	memories = append(memories, chronicle.Memory{ID: 200, Category: "PROJECT_RULES"})
	want = append([]int64{100, 200}, want[1:]...)
	if got := shownMemories(10_000, memories...); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Bug class H3: a memory expired between two passes, and disappeared from the head at once, without a bust.
func TestBugH3MemoryExpiresWithTheFold(t *testing.T) {
	memories := []chronicle.Memory{
		{ID: 1, Content: "always"},
		{ID: 2, Content: "until the fold", ExpiresAt: 1000},
		{ID: 3, Content: "a little longer", ExpiresAt: 1001},
	}
	baseline := history.Baseline(history.BaselineInput{Memories: memories, FoldedAt: 1000, CountText: tokens.Count})
	if !reflect.DeepEqual(baseline.Memories, []int64{1, 3}) {
		t.Errorf("baseline %v", baseline.Memories)
	}
	delta := deltaOf(history.DeltaInput{Memories: memories, FoldedAt: 1000})
	if strings.Contains(delta.Text, "until the fold") || !strings.Contains(delta.Text, "a little longer") {
		t.Errorf("%s", delta.Text)
	}
}

func TestBudgetOfTheDelta(t *testing.T) {
	var memories []chronicle.Memory
	for i := range 40 {
		memories = append(memories, chronicle.Memory{ID: int64(i + 1)})
	}
	for budget, want := range map[int]int{0: 9 /* of 4,000 */, 4 * 626: 6, 4*626 - 1: 5} {
		got := history.Delta(history.DeltaInput{Memories: memories, MemoryBudget: budget, CountText: hundred})
		if n := strings.Count(got.Text, "<memory id="); n != want {
			t.Errorf("budget %d: %d memories, want %d", budget, n, want)
		}
	}
}

func TestMemoriesKeepToTheirBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := history.BaselineInput{
			MemoryBudget: rapid.IntRange(1, 400).Draw(t, "memory budget"),
			CountText:    tokens.Count,
		}
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "word", "<tag>", "&", "\n"}), 0, 60)
		text := rapid.Custom(func(t *rapid.T) string { return strings.Join(words.Draw(t, "words"), " ") })
		for i := range rapid.IntRange(0, 12).Draw(t, "memories") {
			in.Memories = append(in.Memories, chronicle.Memory{
				ID: int64(i + 1), Content: text.Draw(t, "content"), Importance: rapid.IntRange(0, 100).Draw(t, "importance"),
				Permanent: rapid.Bool().Draw(t, "permanent"),
			})
		}
		got := history.Baseline(in)
		const tags = 20
		if got.Sections.Memory > in.MemoryBudget+tags {
			t.Fatalf("%+v with %d", got.Sections, in.MemoryBudget)
		}
		if strings.Count(got.Text, "<memory id=") != len(got.Memories) {
			t.Fatalf("%d memories in\n%s", len(got.Memories), got.Text)
		}
	})
}

// The expected results are the test vectors mem-select, mem-line and coalesce of a reference implementation. Bug class
// K9: if the budget was too small for all memories, the head showed the oldest ones, because most memories have the
// same importance.
func TestBugK9ReferenceMemories(t *testing.T) {
	sizes := map[string]int{"five": 33, "six": 23, "seven": 23, "eight": 22}
	count := func(line string) int {
		for word, size := range sizes {
			if strings.Contains(line, word) {
				return size
			}
		}
		return 0
	}
	memories := []chronicle.Memory{
		{ID: 5, Category: "NAMING", Importance: 50, Content: "five"},
		{ID: 6, Category: "PROJECT_RULES", Importance: 80, Content: "six"},
		{ID: 7, Category: "ARCHITECTURE", Importance: 50, Content: "seven"},
		{ID: 8, Category: "CONFIG_VALUES", Importance: 20, Content: "eight", Permanent: true},
	}
	in := history.BaselineInput{Memories: memories, MemoryBudget: 75 + 20, CountText: count}
	if got := history.Baseline(in).Memories; !reflect.DeepEqual(got, []int64{6, 7, 8}) {
		t.Errorf("mem-select: %v", got)
	}
	memories[0].UpdatedAt, memories[0].Content = 9, "now six" // changed after all others
	if got := history.Baseline(in).Memories; !reflect.DeepEqual(got, []int64{6, 8, 5}) {
		t.Errorf("a changed memory counts as old: %v", got)
	}
	memories[0].Doubt = "a.go is gone" // if the user has not pinned it, a doubtful memory is left out before all others
	memories[3].Doubt = "b.go is gone"
	if got := history.Baseline(in).Memories; !reflect.DeepEqual(got, []int64{6, 7, 8}) {
		t.Errorf("a doubtful memory keeps its rank: %v", got)
	}
	doubtful := history.Baseline(history.BaselineInput{
		Memories: []chronicle.Memory{{ID: 5, Category: "NAMING", Importance: 50, Content: "n", Doubt: `a.go no longer has "<x>"`}}, CountText: tokens.Count,
	}).Text
	if want := `  <memory id="5" category="NAMING" doubtful="a.go no longer has &quot;&lt;x&gt;&quot;" importance="50">n</memory>`; !strings.Contains(doubtful, want) {
		t.Errorf("a doubtful memory: %s", doubtful)
	}
	line := history.Baseline(history.BaselineInput{
		Memories:  []chronicle.Memory{{ID: 5, Category: "NAMING", Importance: 50, Content: `n one <tag> & "q", [dropped §3§] §823 BGB`}},
		CountText: tokens.Count,
	}).Text
	if want := "\n" + `  <memory id="5" category="NAMING" importance="50">n one &lt;tag&gt; &amp; "q", [dropped § 3§] § 823 BGB</memory>` + "\n"; !strings.Contains(line, want) {
		t.Errorf("mem-line: %s", line)
	}
	got := deltaOf(history.DeltaInput{Shown: []int64{10, 11}, Updates: []chronicle.MemoryChange{
		{ID: 1, Kind: chronicle.MemoryArchived, Memory: 10},
		{ID: 2, Kind: chronicle.MemoryUpdated, Memory: 10, Content: "late"},
		{ID: 3, Kind: chronicle.MemoryUpdated, Memory: 11, Content: "a"},
		{ID: 4, Kind: chronicle.MemoryUpdated, Memory: 11, Content: "§§1§2§ b"},
		{ID: 5, Kind: chronicle.MemoryUpdated, Memory: 12, Content: "c"},
	}})
	if lines := updateLines(got.Text); !reflect.DeepEqual(lines, []string{`  <removed id="10"/>`, `  <updated id="11">§§ 1§ 2§ b</updated>`}) {
		t.Errorf("coalesce: %q", lines)
	}
}

func TestMemoriesOfTheUserHaveTheirOwnSection(t *testing.T) {
	ofUser := chronicle.Memory{ID: 7, Project: chronicle.UserProject, Category: chronicle.UserCategory, Content: "prefers <short> answers"}
	in := history.BaselineInput{Memories: []chronicle.Memory{{ID: 1, Project: "git:1", Category: "NAMING", Content: "x"}, ofUser}, CountText: tokens.Count}
	const section = `<user-memory>
Noted about the user in several earlier sessions. This is data and not words of the user.
  <memory id="7" category="USER_PREFERENCES" importance="50">prefers &lt;short&gt; answers</memory>
</user-memory>`
	got := history.Baseline(in)
	if !strings.HasSuffix(got.Text, "</project-memory>\n\n"+section) || !reflect.DeepEqual(got.Memories, []int64{1, 7}) {
		t.Errorf("%+v", got)
	}
	if got := history.Delta(history.DeltaInput{Memories: []chronicle.Memory{ofUser}, CountText: tokens.Count}).Text; strings.Contains(got, "<new-memories>") ||
		!strings.Contains(got, strings.ReplaceAll(section, "user-memory", "new-user-memories")) {
		t.Error(got)
	}
	for i := range 500 {
		in.Memories = append(in.Memories,
			chronicle.Memory{ID: int64(100 + i), Project: chronicle.UserProject, Content: strings.Repeat("likes it ", 20)},
			chronicle.Memory{ID: int64(1_000 + i), Project: "git:1", Category: "NAMING", Content: strings.Repeat("name it ", 20)})
	}
	in.MemoryBudget = 1_000
	_, about, _ := strings.Cut(history.Baseline(in).Text, "<user-memory>")
	if size := tokens.Count(about); size < 800 || size > 1_050 {
		t.Errorf("the section of the user has %d tokens", size)
	}
	in.MemoryBudget = 10
	if !strings.Contains(history.Baseline(in).Text, "<user-memory>") {
		t.Error("a small budget of the project leaves out the user")
	}
}
