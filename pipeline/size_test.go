package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

func weighing(tokens int) string { return strings.Repeat("abc ", tokens) }

// The function `said` returns a message. If `prompt` is not 0, the message is an answer whose usage reports a prompt of
// this size.
func said(id, role string, tokens, prompt int) json.Value {
	info := obj{}
	if prompt > 0 {
		info["tokens"] = obj{"input": 1, "cache": obj{"read": prompt - 3, "write": 2}, "output": 77}
	}
	return message(id, role, 1_000_000, info, textPart("p"+id, weighing(tokens)))
}

func TestSize(t *testing.T) {
	unfinished := message("a1", "assistant", 1_000_000, obj{"finish": ""}, textPart("pa1", weighing(20)))
	for _, c := range []struct {
		name     string
		messages []json.Value
		edits    []frozen.Edit
		episode  Episode
		want     Size
	}{
		{"nothing was answered", []json.Value{said("u1", "user", 10, 0)}, nil, Episode{}, Size{}},
		{"nor while the first answer is under way", []json.Value{said("u1", "user", 10, 0), unfinished}, nil, Episode{}, Size{}},
		{
			"the prompt, and what came since: the answer itself and the user's next", // the messages weigh 10, 20 and 5 tokens
			[]json.Value{said("u1", "user", 10, 0), said("a1", "assistant", 20, 1000), said("u2", "user", 5, 0)},
			nil,
			Episode{},
			Size{Measurement: "a1/1000", Measured: 1000, Current: 1025},
		},
		{
			"the newest report counts",
			[]json.Value{said("a1", "assistant", 20, 1000), said("a2", "assistant", 30, 1500), said("u2", "user", 5, 0)},
			nil,
			Episode{},
			Size{Measurement: "a2/1500", Measured: 1500, Current: 1535},
		},
		{
			"an answer without report is part of what came since",
			[]json.Value{said("a1", "assistant", 20, 1000), said("a2", "assistant", 30, 0), said("u2", "user", 5, 0)},
			nil,
			Episode{},
			Size{Measurement: "a1/1000", Measured: 1000, Current: 1055},
		},
		{
			"what was dropped since weighs its placeholder",
			[]json.Value{said("a1", "assistant", 20, 1000), said("u2", "user", 50, 0)},
			[]frozen.Edit{{Tag: 2, Kind: frozen.Drop}},
			Episode{},
			Size{Measurement: "a1/1000", Measured: 1000, Current: 1028},
		},
		{
			"a bust has taken some of the measured prompt away",
			[]json.Value{said("a1", "assistant", 20, 1000), said("u2", "user", 5, 0)},
			nil,
			Episode{Relief: Relief{Of: "a1/1000", Tokens: 300}},
			Size{Measurement: "a1/1000", Measured: 1000, Current: 725},
		},
		{
			"the next report has seen that",
			[]json.Value{said("a1", "assistant", 20, 1000), said("a2", "assistant", 5, 900)},
			nil,
			Episode{Relief: Relief{Of: "a1/1000", Tokens: 300}},
			Size{Measurement: "a2/900", Measured: 900, Current: 905},
		},
		{
			"never below nothing",
			[]json.Value{said("a1", "assistant", 20, 1000)},
			nil,
			Episode{Relief: Relief{Of: "a1/1000", Tokens: 3000}},
			Size{Measurement: "a1/1000", Measured: 1000},
		},
		{
			"a provider that never reports: the host's own count",
			[]json.Value{said("u1", "user", 10, 0), said("a1", "assistant", 20, 0), said("u2", "user", 5, 0)},
			nil,
			Episode{Relief: Relief{Tokens: 300}},
			Size{Current: 35},
		},
		{
			"of what is still there",
			[]json.Value{said("u1", "user", 100, 0), said("a1", "assistant", 20, 0), said("u2", "user", 5, 0)},
			[]frozen.Edit{{Tag: 1, Kind: frozen.Drop}},
			Episode{},
			Size{Current: 33},
		},
	} {
		w := newWorld(t, true, 1)
		w.session.Update(0, c.messages, "")
		w.session.State.Commit(frozen.Additions{Edits: c.edits})
		w.session.Meta.Episode = c.episode
		if got, _ := w.session.size(Counting{}); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// After a compaction, the array still has older turns, whose usages report the larger array. The host ignores them.
func TestUsageFromBeforeACompactionIsIgnored(t *testing.T) {
	at := func(raw json.Value, created int) json.Value {
		return json.Value(strings.Replace(string(raw), `"created":1000000`, fmt.Sprintf(`"created":%d`, created), 1))
	}
	w := newWorld(t, true, 1)
	w.session.Update(0, []json.Value{
		json.Value(`{"info":{"id":"c","role":"user","time":{"created":50}},"parts":[{"id":"p","type":"compaction","auto":false}]}`),
		json.Value(`{"info":{"id":"s","role":"assistant","parentID":"c","summary":true,"finish":"stop","time":{"created":51,"completed":51}},"parts":[{"id":"q","type":"text","text":"All so far."}]}`),
		at(said("u1", "user", 200, 0), 40), at(said("a1", "assistant", 20, 36_000), 41),
		at(said("u2", "user", 200, 0), 60), at(said("a2", "assistant", 20, 1000), 61), at(said("u3", "user", 5, 0), 70),
	}, "")
	want := Size{Measurement: "a2/1000", Measured: 1000, Current: 1025}
	if got, _ := w.session.size(Counting{}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestGrowth(t *testing.T) {
	calmer := []int{1000} // 25 steps of 1000 tokens, then 20 steps of 10
	for i := range 45 {
		step := 1000
		if i >= 25 {
			step = 10
		}
		calmer = append(calmer, calmer[i]+step)
	}
	for _, c := range []struct {
		name    string
		prompts []int // 0: not reported
		want    int
	}{
		{"no answer", nil, 1},
		{"one answer says nothing", []int{1000}, 1},
		{"two answers", []int{1000, 1300}, 300},
		{"the median", []int{1000, 1100, 1600, 1800}, 200},
		{"of an even number the higher one", []int{1000, 1100, 1600}, 500},
		{"a bust is no growth", []int{1000, 1100, 400, 600, 700}, 100},
		{"an answer without report is skipped", []int{1000, 0, 1300}, 300},
		{"only shrinking", []int{1000, 900, 800}, 1},
		{"only the newest twenty steps", calmer, 10},
	} {
		w := newWorld(t, true, 1)
		var messages []json.Value
		for i, prompt := range c.prompts {
			messages = append(messages, said(fmt.Sprintf("a%d", i), "assistant", 1, prompt), said(fmt.Sprintf("u%d", i), "user", 1, 0))
		}
		w.session.Update(0, messages, "")
		if got := w.session.Growth(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// Bug F11: the user switched to a model that binds its thinking, so the host left out all older thinking. But the host
// still counted this thinking as a part of the prompt, and freed space without need. The fix subtracts the thinking,
// but only as far as the last measured prompt contained it. The thinking of a3 is newer, so it must not be subtracted.
func TestLostThinkingIsSubtractedFromTheSize(t *testing.T) {
	for name, c := range map[string]struct {
		bindsBefore bool
		dropped     string
		want        int
	}{
		"the model begins to bind":   {want: 40_000},
		"the preamble changes":       {bindsBefore: true, want: 40_000},
		"a call left with its share": {dropped: "drop 2\n", want: 60_000},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, "anthropic", 1)
			s.w.bindsOf = func(m schema.Model) bool { return c.bindsBefore || m.ID == "m2" }
			s.happen("user u1: q")
			s.happen("assistant a1 (tool-calls): think signed \"{80000 x}\" | call bash c1 {} -> \"A\"")
			s.happen("assistant t1..t20 (tool-calls): call bash d# {} -> \"o\"\nassistant a2: done")
			s.happen("user u2: n\n" + c.dropped + "flush")
			s.happen("assistant a3 (60%): think signed \"{40000 y}\" | done")
			s.happen("user u3 (m2): n")
			if makesRoom := s.w.decision.Goal > 0; makesRoom != (c.want > 50_000) {
				t.Errorf("the pass wants to get down to %d tokens, and its wire has %d without the thinking", s.w.decision.Goal, c.want)
			}
			s.happen("assistant a4: so\nuser u4: n")
			if got := s.w.decision.Size.Current; got < c.want || got > c.want+200 {
				t.Errorf("the pass believes in %d tokens, want %d and the newest messages", got, c.want)
			}
		})
	}
}

// Bug F14: an answer without a usage called a tool, and a bust dropped the tool's output. The next pass subtracted the
// output twice. First it no longer counted the output, and then it also subtracted it as relief.
func TestDropAfterTheMeasurementIsSubtractedOnce(t *testing.T) {
	for _, c := range []struct {
		name, drop string
		want       int
	}{
		{"in the measured prompt", "drop 2", 30_000},
		{"after the measurement", "drop 5", 40_000},
		{"both", "drop 2 5", 20_000},
		{"one after the other", "drop 2\nflush|drop 5", 20_000},
		{"the other way round", "drop 5\nflush|drop 2", 20_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := begin(t, "anthropic", 1)
			s.happen("user u1: q")
			s.happen("assistant a1 (tool-calls): call bash c1 {} -> \"{80000 x}\"")
			s.happen("assistant a2 (40%): so\nuser u2: n")
			s.happen("assistant a3 (tool-calls): call bash c2 {} -> \"{40000 y}\"")
			s.happen("assistant t1..t20 (tool-calls): call bash d# {} -> \"o\"\nassistant a4: done\nuser u3: n")
			for _, drop := range strings.Split(c.drop, "|") {
				s.happen(strings.TrimSuffix(drop, "\nflush") + "\nflush")
			}
			for range 2 {
				s.happen("")
				if got := s.w.decision.Size.Current; got < c.want-200 || got > c.want+600 {
					t.Errorf("the pass believes in %d tokens, want about %d", got, c.want)
				}
				s.w.restart()
			}
		})
	}
}

// Bug class F16: the provider's count of a prompt includes thinking, but the host's count does not. After the provider
// had refused a prompt with much thinking, the host saw that the provider counted far more tokens. It concluded that
// each dropped token frees two tokens of the provider.
func TestThinkingIsNoSignOfAnotherVocabulary(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.happen("user u1: q")
	s.happen("assistant a0 (1%): so\nuser u2: n")
	s.happen("assistant a1 (tool-calls): think signed \"{160000 x}\" | call bash c1 {} -> \"{80000 x}\"")
	s.happen("assistant t1..t20 (tool-calls): call bash d# {} -> \"o\"")
	s.happen("assistant a2 (60%): so\nuser u3: n")
	s.w.readings.Overflow, s.w.readings.OverflowTokens = true, 65_000
	s.w.readings.LimitTokens = 60_000
	s.happen("")
	if got := s.w.decision.perToken; got < 1 || got > 1.5 {
		t.Errorf("%.2f tokens of the provider are taken for one of the host", got)
	}
}

// Bug F22: a model with a small window refused a prompt, and the user switched to a model with a large window. The host
// assumed that the prompt filled the large window.
func TestRefusalOfAnotherModelDoesNotFillTheWindow(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.happen("user u1: q")
	s.happen("assistant a1 (40%): so\nuser u2: n")
	s.w.readings.Overflow, s.w.readings.LimitTokens = true, 200_000
	s.happen("user u3 (m2): n")
	if got := s.w.decision.Size.Current; got < 40_000 || got > 41_000 {
		t.Errorf("the pass believes in %d tokens, want the 40,000 of the last usage and the new messages", got)
	}
}

// Fixed bug: after a refused prompt, the user wrote another long prompt. The refused prompt filled at least the window,
// so both prompts together need the window plus the new prompt. The host assumed that both together only fill the
// window.
func TestPromptAfterARefusedOneCountsOnTopOfIt(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.happen("user u1: q")
	s.happen("assistant a1 (90%): so\nuser u2: n")
	s.w.readings.Overflow = true
	s.w.add(message("failed", "assistant", s.w.now, obj{"error": obj{"name": "APIError"}}),
		message("u3", "user", s.w.now, nil, textPart("p3", weighing(15_000))))
	s.w.pass()
	if got, want := s.w.decision.Size.Current, s.w.readings.LimitTokens+15_000; got < want-200 || got > want+1_000 {
		t.Errorf("the pass believes in %d tokens, want the window and the new prompt, %d", got, want)
	}
}

// Fixed bug: Pi does not send the output of a command that begins with "!!". After a refusal, a bust dropped such an
// output, counted its tokens as freed, and sent nearly the same prompt again.
func TestHiddenMessageIsNoPartOfThePrompt(t *testing.T) {
	w := newWorldOf(t, transcript.Pi{}, true, 3)
	hidden, err := json.Marshal(obj{"id": "hidden", "message": obj{"role": "bashExecution", "command": "make", "output": weighing(20_000), "excludeFromContext": true, "timestamp": w.now}})
	must(t, err)
	w.raw = append(w.raw, hidden)
	w.add(said("u1", "user", 20_000, 0))
	w.pass()
	w.add(said("a1", "assistant", 20, 95_000), said("u2", "user", 5, 0))
	w.readings.Overflow, w.readings.OverflowTokens = true, 101_000
	w.pass()
	if got := w.text(); strings.Contains(got, weighing(1_000)) {
		t.Errorf("the prompt is refused again: it still has the old text, and the bust removes %d tokens by %v", w.decision.Price.Removed, w.decision.Reasons)
	}
}

func TestThinkingOfAFailedAnswerIsNotSent(t *testing.T) {
	w := newWorld(t, true, 1)
	w.add(
		message("u1", "user", w.now, nil, textPart("p1", "q")),
		message("a1", "assistant", w.now, obj{"error": obj{"name": "APIError"}}, reasoningPart("p2", weighing(400), true)),
		message("u2", "user", w.now, nil, textPart("p3", "again")),
	)
	w.pass()
	if got := w.session.Thinking(frozen.Additions{}); got != 0 {
		t.Errorf("got %d tokens of thinking in the prompt", got)
	}
}

// Bug F14, here for thinking: a new preamble removes all thinking from the wire. The host subtracted all of it from the
// size of the prompt. But the measured size included only the thinking that the measured prompt contained, so the
// result was too small.
func TestLostThinkingAfterTheMeasurementFreesNothing(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.w.bindsOf = func(m schema.Model) bool { return m.ID == "m2" }
	s.happen("user u1: q")
	s.happen("assistant a1: think signed \"{40000 x}\" | so\nuser u2: n")
	s.happen("assistant a2 (50%): think signed \"{80000 y}\" | done\nuser u3 (m2): n")
	s.happen("")
	if got := s.w.decision.Size.Current; got < 40_000 || got > 40_200 {
		t.Errorf("the pass believes in %d tokens, want 40,000 and the newest messages", got)
	}
}
