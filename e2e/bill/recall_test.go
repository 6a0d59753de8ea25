package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
)

func TestStoryTellsEachNeedleOnce(t *testing.T) {
	s := testStory()
	files := s.files()
	for turn := 1; turn <= testTurns; turn++ {
		n := s.needle(turn)
		found := map[place]int{}
		for told := 1; told <= testTurns; told++ {
			found[place{told, 0}] += strings.Count(s.prompt(told), n.key)
			for step := 1; step <= done; step++ {
				found[place{told, step}] += strings.Count(s.after(place{told, step - 1}).text, n.key)
			}
			lines := strings.SplitAfter(files[fileName(told)], "\n")
			for step := 1; step <= calls; step++ {
				found[place{told, step}] += strings.Count(strings.Join(lines[(step-1)*linesPerCall:step*linesPerCall], ""), n.key)
			}
		}
		for at, times := range found {
			want := 0
			if at == n.at {
				want = 1
			}
			if times != want {
				t.Errorf("%s of turn %d is told %d times at %v, want %d", n.kind, turn, times, at, want)
			}
		}
	}
}

func TestRecallCountsEachNeedleOnce(t *testing.T) {
	s := testStory()
	text := func(texts ...string) mockllm.Message {
		m := mockllm.Message{Role: "user"}
		for _, t := range texts {
			m.Content = append(m.Content, mockllm.Content{Type: "text", Text: t})
		}
		return m
	}
	messages := []mockllm.Message{
		text("<session-history>\n"+s.needle(1).text+" "+s.needle(3).text, "x"),
		text("Turn 3: " + s.needle(3).text),
	}
	found := s.findNeedles(place{5, 0}, messages)
	got := recallOf(5, found, "raw: "+s.needle(1).text+s.needle(4).text)
	want := recall{
		Turn: 5, Told: 4, Verbatim: 1, Summary: 1, Expandable: 1, Lost: 1,
		PromptKinds: map[string]int{s.needle(1).kind: 1, s.needle(3).kind: 1}, LostKinds: map[string]int{s.needle(2).kind: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f := figure{Recalls: []recall{got}}
	if misses := f.lostNeedles(nil); len(misses) != 1 {
		t.Errorf("a needle is lost: %v", misses)
	}
	better := figure{Name: withCompaction.name, Summaries: 1, Recalls: []recall{{Turn: 5, Verbatim: 2}}}
	f.Recalls[0].Lost = 0
	if misses := f.lostNeedles([]figure{better}); len(misses) != 1 {
		t.Errorf("OpenCode's prompt holds as many needles: %v", misses)
	}
}

func TestNeedlesAreToldInOrder(t *testing.T) {
	s := testStory()
	if n := len(s.needlesBefore(place{3, 0})); n != 2 {
		t.Errorf("before turn 3 begins, %d needles are told, want 2", n)
	}
}
