package main

import (
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/script"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/tokens"
)

const testTurns = 60

func testStory() story { return story{project: "/project", turns: testTurns, tools: script.OpenCode} }

// The steps of the story must be as large as real ones. In published measurements of other tools, a step has about
// 1,100 tokens, and its output has 3 KB.
func TestStepsHaveTheirSize(t *testing.T) {
	s := testStory()
	files := s.files()
	for turn := 1; turn <= testTurns; turn++ {
		lines := strings.SplitAfter(files[fileName(turn)], "\n")
		for step := 1; step <= calls; step++ {
			output := strings.Join(lines[(step-1)*linesPerCall:step*linesPerCall], "")
			if n := len(output); n < 2_500 || n > 3_300 {
				t.Errorf("turn %d, step %d shows %d bytes, want about 3 KB", turn, step, n)
			}
			// OpenCode's read tool puts a number before each line. The number takes about two tokens.
			size := tokens.Count(output) + linesPerCall*2 + s.after(place{turn, step - 1}).tokens()
			if size < 950 || size > 1_200 {
				t.Errorf("turn %d, step %d takes %d tokens, want about 1,100", turn, step, size)
			}
		}
	}
}

func TestNoTwoCallsAreEqual(t *testing.T) {
	s := testStory()
	files := s.files()
	seen := map[string]place{}
	searches := 0
	for turn := 1; turn <= testTurns; turn++ {
		for step := 1; step <= calls; step++ {
			p := place{turn, step}
			a := s.call(p)
			key := a.id
			if other, ok := seen[key]; ok {
				t.Errorf("%v and %v have the id %s", p, other, key)
			}
			seen[key] = p
			if a.tool == "bash" {
				searches++
				found := 0
				for line := range strings.Lines(files[fileName(turn)]) {
					if strings.HasPrefix(line, piece(p)) {
						found++
					}
				}
				if found != linesPerCall {
					t.Errorf("the search of %v finds %d lines, want %d", p, found, linesPerCall)
				}
				continue
			}
			if want := (step-1)*linesPerCall + 1; a.input["offset"] != want || !strings.HasSuffix(a.input["filePath"].(string), fileName(turn)) {
				t.Errorf("%v reads %v", p, a.input)
			}
		}
	}
	if searches != testTurns/3 {
		t.Errorf("%d searches, want one in every third turn", searches)
	}
}

// No rule can drop texts, the system prompt or the tools. In this story, they alone fill most of the window, so only
// summaries help.
func TestTextsFillMostOfTheWindow(t *testing.T) {
	const systemAndTools = 7_300 // measured with OpenCode 1.18.33
	s := testStory()
	size := systemAndTools
	for turn := 1; turn <= testTurns; turn++ {
		size += tokens.Count(s.prompt(turn))
		for step := range done {
			size += tokens.Count(s.after(place{turn, step}).text)
		}
	}
	if share := float64(size) / float64(scenes[0].limits.Context); share < 0.75 || share > 0.85 {
		t.Errorf("texts, system prompt and tools fill %s of the window, want 75 to 85", format.FinePercent(share))
	}
}

// The scripted model keeps no state. In each request, it looks at its own last answer to find out how far the story has
// come. So the function `position` must find the place that each answer names.
func TestAnswersNameTheirPlace(t *testing.T) {
	s := testStory()
	for _, p := range []place{{1, 0}, {17, 2}, {60, calls}} {
		a := s.after(p)
		want := place{p.turn, p.step + 1}
		if got, ok := position(assistant(a.text, a.id)); !ok || got != want {
			t.Errorf("after %v the position is %v, %t", p, got, ok)
		}
		if got, ok := position(assistant(a.text, "")); !ok || got != want {
			t.Errorf("after %v the text names %v, %t", p, got, ok)
		}
	}
	if got, ok := position(user(s.prompt(7))); !ok || got != (place{7, 0}) {
		t.Errorf("the prompt names %v, %t", got, ok)
	}
}
