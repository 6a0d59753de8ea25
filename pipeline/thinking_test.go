package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/render"
)

// The SDKs of these providers fuse consecutive assistant messages into one.
var fusing = []string{"anthropic", "bedrock", "vertex"}

// Bug D1: in an emergency, the host dropped the only call of the step before the newest step, and only a text of that
// step was left. The provider joined this text with the newest step. So the thinking of the newest step came after a
// text, or was removed. Anthropic refuses both.
func TestDefectD1NewestStepKeepsItsThinkingInAnEmergency(t *testing.T) {
	for _, profile := range fusing {
		for _, pressure := range []int{96, 120} {
			s := begin(t, profile, 1)
			s.happen("user u1: q\nassistant a1 (tool-calls): think signed \"r1\" | first I look | call bash c1 {\"n\":1} -> \"{40000 x}\"")
			s.happen(fmt.Sprintf("assistant a2 (tool-calls, %d%%): think signed \"r2\" | now these | call bash d1 {} -> \"{9000 y}\" | call bash d2 {} -> \"{9000 y}\" | call bash d3 {} -> \"{9000 y}\"", pressure))
			if s.w.session.State.ByTag(3).Active() {
				t.Errorf("%s at %d %%: the test needs a pass that takes the result of c1", profile, pressure)
			}
			s.shows(`a2 assistant: reasoning "r2" text`, true)
			if before := s.w.wire[len(s.w.wire)-2]; before.FusesWithNext() {
				t.Errorf("%s at %d %%: %s fuses with the newest step", profile, pressure, before.Key)
			}
			s.steady("restart")
			// the request now ends with a prompt, and the newest step is still the last answer
			s.happen("assistant a3 (failed): none\nuser u2: go on\npressure 120%")
			s.shows(`a2 assistant: reasoning "r2" text`, true)
		}
	}
}

// Bug D1, second case: on an idle pass with one protected tag, the rule for duplicates or the rule for queued drops
// dropped a call, and the newest step lost its thinking.
func TestDefectD1NewestStepKeepsItsThinkingOnAnIdlePass(t *testing.T) {
	for _, profile := range fusing {
		s := begin(t, profile, 1)
		s.happen("user u1: q\nassistant a0 (tool-calls): call read c0 {\"f\":1} -> \"A\"\nassistant a1 (tool-calls): think signed \"r1\" | look | call ctx_reduce c1 {} -> \"ok\"")
		s.happen("assistant a2 (tool-calls, 10%): think signed \"r2\" | again | call read c2 {\"f\":1} -> \"A\"\npause 2h")
		if s.w.decision.Cause != CauseIdle {
			t.Fatalf("the test needs an idle pass, not %q", s.w.decision.Cause)
		}
		s.shows(`a2 assistant: reasoning "r2" text`, true)
		if before := s.w.wire[len(s.w.wire)-2]; before.FusesWithNext() {
			t.Errorf("%s: %s fuses with the newest step:\n%s", profile, before.Key, s.w.text())
		}
	}
}

// Bug D4: a text follows a call in its message. The host assumed that the provider joins this text with the next step,
// and removed the next step's thinking. But the call's result is between the two.
func TestDefectD4TextAfterACallDoesNotFuse(t *testing.T) {
	for _, profile := range fusing {
		s := begin(t, profile, 5)
		s.happen("user u1: q\nassistant a1 (tool-calls): think signed \"r1\" | call bash c1 {} -> \"A\" | I wait")
		s.steady("assistant a2 (tool-calls, 10%): think signed \"r2\" | call bash c2 {} -> \"B\" | more")
		s.steady("assistant a3 (tool-calls, 10%): think signed \"r3\" | call bash c3 {} -> \"C\"")
		for _, r := range []string{"r1", "r2", "r3"} {
			s.shows(fmt.Sprintf("reasoning %q", r), true)
		}
	}
}

// Bug D4, second case: a message may contain two answers. The last of them alone decides whether the provider joins
// this message with the next one.
func TestDefectD4OnlyTheLastAnswerOfAMessageCounts(t *testing.T) {
	w := newWorld(t, true, 1)
	step := obj{"type": "step-start"}
	w.add(message("u1", "user", w.now, nil, textPart("p1", "q")),
		message("a1", "assistant", w.now, nil, step, reasoningPart("p2", "r1", true), toolPart("p3", "c1", "bash", obj{}, "A"), step, textPart("p4", "so"), toolPart("p5", "c2", "bash", obj{}, "B")),
		message("a2", "assistant", w.now, nil, step, reasoningPart("p6", "r2", true), toolPart("p7", "c3", "bash", obj{}, "C")))
	for i := range 20 {
		w.add(message(fmt.Sprintf("t%d", i), "assistant", w.now, nil, toolPart(fmt.Sprintf("q%d", i), fmt.Sprintf("d%d", i), "bash", obj{"n": i}, "o")))
	}
	w.add(message("u2", "user", w.now, nil, textPart("p9", "n")))
	w.pass()
	w.queue(4)
	w.readings.Flush = true
	w.pass()
	if got := w.text(); !strings.Contains(got, `"r1"`) || strings.Contains(got, `"r2"`) {
		t.Errorf("a2 continues the text of a1, so its thinking may not stand there:\n%s", got)
	}
}

// Bug D8: if an answer had two thinking blocks, only the first was sent, even in the newest step. A provider that
// checks signatures requires all blocks of an answer or none.
func TestDefectD8ThinkingOfOneAnswerIsSentWholeOrNotAtAll(t *testing.T) {
	for _, profile := range fusing {
		s := begin(t, profile, 1)
		s.happen("user u1: q")
		s.steady("assistant a1 (tool-calls, 10%): think signed \"r1\" | think signed \"redacted\" | call bash c1 {} -> \"A\"")
		s.shows(`a1 assistant: reasoning "r1" reasoning "redacted" call`, true)
		s.steady("assistant a2 (tool-calls, 10%): think signed \"r2\" | so | think signed \"r2b\" | call bash c2 {} -> \"B\"")
		s.shows(`reasoning "r2b"`, true)
		// If the provider joins an older answer with the answer before it, all thinking of the older answer is removed.
		s.happen("assistant t1..t20 (10%): call bash d# {\"n\":#} -> \"o#\"\nuser u2: n\nassistant a4 (10%): x | call bash e1 {} -> \"A\"\nassistant a5 (10%): think signed \"r5\" | think signed \"r5b\" | y | call bash e2 {} -> \"B\"\nassistant v1..v20 (10%): call bash f# {\"n\":#} -> \"o#\"\nuser u3: m")
		s.shows(`reasoning "r5b"`, true)
		s.happen("drop 27\nflush")
		s.shows(`reasoning "r5`, false)
		s.steady("restart")
	}
}

func TestValidatorWantsThinkingFirstInTheNewestStep(t *testing.T) {
	raw := render.WireMessage{Key: "a1", Role: "assistant", Blocks: []render.Block{
		{Kind: render.ReasoningBlock, Text: "r", Signature: []byte(`{"anthropic":{"signature":"s"}}`)},
		{Kind: render.TextBlock, Text: "x"},
		{Kind: render.CallBlock, ID: "c"},
		{Kind: render.ResultBlock, ID: "c"},
	}}
	wire := raw
	wire.Blocks = raw.Blocks[1:]
	user := render.WireMessage{Key: "u1", Role: "user", Blocks: []render.Block{{Kind: render.TextBlock, Text: "q"}}}
	msgs := []render.Rendered{{Raw: user, Wire: user}, {Raw: raw, Wire: wire}}
	at := render.Position{First: true, Last: true}
	for _, profile := range fusing {
		hits := render.Validate(render.ProfileNamed(profile), msgs, at)
		if len(hits) != 1 || hits[0].Rule != render.RuleThinking {
			t.Errorf("%s: %v", profile, hits)
		}
	}
	if hits := render.Validate(render.ProfileNamed("openai"), msgs, at); len(hits) > 0 {
		t.Errorf("openai: %v", hits)
	}
	at.Continues = true // the harness itself sends two answers in a row
	if hits := render.Validate(render.ProfileNamed("anthropic"), msgs, at); len(hits) > 0 {
		t.Errorf("fused by the harness: %v", hits)
	}
}

// Bug F2: OpenAI refuses a reasoning item that no other item follows. An answer had a reasoning item, a text, a second
// reasoning item and a call. The host dropped only the call, so nothing followed the second reasoning item.
func TestReasoningIsRemovedWithTheItemItLedTo(t *testing.T) {
	for _, profile := range []string{"openai", "copilot", "openai-compatible"} {
		s := begin(t, profile, 1)
		s.happen("user u1: q\nassistant a1: think signed \"r1\" | so | think signed \"r2\" | call bash c1 {} -> \"A\"\n" +
			"assistant a2: think signed \"r3\" | call bash c2 {\"n\":2} -> \"B\" | think signed \"r4\" | call bash c3 {\"n\":3} -> \"C\"\n" +
			"assistant t1..t20 (10%): call bash d# {\"n\":#} -> \"o#\"\nuser u2: n")
		s.happen("drop 3 4\nflush")
		s.shows(`a1 assistant: reasoning "r1" text "§2§ so"`+"\n", true)
		s.shows(`a2 assistant: reasoning "r4" call bash`, true)
		s.shows(`"r3"`, false)
	}
}

// Bug F3: the host added the synthetic todo list, which is a call, to an answer without calls and without thinking.
// This answer became the last one. Anthropic refuses a last answer that has a call but no thinking.
func TestTodoListStartsNoFinalAnswer(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.happen("user u1: q\nassistant a1: think signed \"r1\" | call todowrite c1 {\"todos\":[{\"content\":\"A\",\"status\":\"pending\",\"priority\":\"high\"}]} -> \"1 todo\"\n" +
		"assistant t1..t20: think signed \"h#\" | call bash d# {\"n\":#} -> \"o#\"\nassistant a2 (10%): done\nuser u2: n")
	s.happen("drop 2\nflush")
	s.shows("a2 assistant: text \"§23§ done\"\n", true)
	s.shows("call todowrite", true)
}
