package history_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline/history"
)

func headOf(foreign func() string) (baseline, delta string) {
	text := func() string { return "x" + foreign() }
	compartments := []chronicle.Compartment{
		{Start: 1, End: 4, Title: text(), Tiers: [4]string{text(), text(), text(), text()}, Importance: 50, Missing: text()},
	}
	memories := []chronicle.Memory{{ID: 1, Category: text(), Source: chronicle.FromWeb, Content: text()}}
	const plenty = 1 << 20
	b := history.Baseline(history.BaselineInput{
		Docs: []history.Doc{{Name: text(), Text: text()}}, Memories: memories, Compartments: compartments,
		HistoryBudget: plenty, MemoryBudget: plenty, DocsBudget: plenty, CountText: tokens.Count,
	})
	d := history.Delta(history.DeltaInput{
		Compartments: compartments, Memories: memories, Shown: []int64{1},
		Updates:      []chronicle.MemoryChange{{ID: 1, Kind: chronicle.MemoryUpdated, Memory: 1, Content: text()}},
		MemoryBudget: plenty, CountText: tokens.Count,
	})
	return b.Text, d.Text
}

var (
	anyTag = regexp.MustCompile(`<[^<>]*>`)
	value  = regexp.MustCompile(`="[^"]*"`)
)

func skeleton(text string) []string {
	tags := anyTag.FindAllString(text, -1)
	for i, tag := range tags {
		tags[i] = value.ReplaceAllString(tag, "=")
	}
	return tags
}

func TestForeignTextLeavesTheTagsAlone(t *testing.T) {
	plainBaseline, plainDelta := headOf(func() string { return "" })
	wantBaseline, wantDelta := skeleton(plainBaseline), skeleton(plainDelta)
	if len(wantBaseline) != 12 || len(wantDelta) != 14 {
		t.Fatalf("%d and %d tags:\n%s\n%s", len(wantBaseline), len(wantDelta), plainBaseline, plainDelta)
	}
	word := rapid.SampledFrom([]string{
		"<", ">", "&", `"`, "'", "=", "/>", "\n", " ", "a", "\u2028", "\x00", "\xff", "&lt;", "</session-history>",
		"</session-history-since>", "</compartment>", "<system-reminder>", `<compartment start="1" end="2">`, "]]>", "<!--",
	})
	words := rapid.SliceOfN(word, 0, 8)
	rapid.Check(t, func(t *rapid.T) {
		baseline, delta := headOf(func() string { return strings.Join(words.Draw(t, "words"), "") })
		if got := skeleton(baseline); !slices.Equal(got, wantBaseline) {
			t.Fatalf("%q, want %q", got, wantBaseline)
		}
		if got := skeleton(delta); !slices.Equal(got, wantDelta) {
			t.Fatalf("%q, want %q", got, wantDelta)
		}
	})
}
