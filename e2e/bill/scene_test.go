package main

import "testing"

// A mixed story has about the same average sizes as the other stories, so the bills are comparable.
func TestMixedSizes(t *testing.T) {
	s, err := scenesNamed("1m")
	if err != nil {
		t.Fatal(err)
	}
	told, turns := s[0].story("/project"), s[0].turns
	lines, tokens, least, most := 0, 0, linesPerCall, 0
	for turn := 1; turn <= turns; turn++ {
		for step := 1; step <= calls; step++ {
			n := told.lines(place{turn, step})
			lines, least, most = lines+n, min(least, n), max(most, n)
			tokens += told.size(place{turn, step}, stepTokens)
		}
	}
	n := float64(turns * calls)
	if mean := float64(lines) / n; mean < 0.9*linesPerCall || mean > 1.2*linesPerCall {
		t.Errorf("an output has %.1f lines on average, and %d in the other stories", mean, linesPerCall)
	}
	if mean := float64(tokens) / n; mean < 0.9*stepTokens || mean > 1.2*stepTokens {
		t.Errorf("a text has %.1f tokens on average, and %d in the other stories", mean, stepTokens)
	}
	if least <= errorLine || most < 10*least {
		t.Errorf("outputs have %d to %d lines", least, most)
	}
}

// After a pause, and after a change of the model, nothing of the next prompt is cached.
func TestPauseAndSwitchLoseTheCache(t *testing.T) {
	r := run{scene: scene{switchAt: 2}, billed: byAnthropic, root: t.TempDir()}
	p := newProvider(byAnthropic, testStory(), 64_000)
	read := func(turn int) int {
		q := request(turn, text(long))
		q.Model = modelID(r.model(turn))
		return p.answer(q).Usage.Read
	}
	first := read(1)
	again := read(1)
	switched := read(2)
	if err := r.pause(p); err != nil {
		t.Fatal(err)
	}
	if after := read(2); first != 0 || again == 0 || switched != 0 || after != 0 {
		t.Errorf("the requests read %d, %d, %d and %d tokens, want the second one only to read", first, again, switched, after)
	}
	if back := read(2); back == 0 {
		t.Error("the request after that reads nothing")
	}
	if p.counted().Strangers > 0 {
		t.Error("a request is not of the story")
	}
}
