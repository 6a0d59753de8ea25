package pipeline

import (
	"regexp"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// Bug J9: a step in the middle of a session may be sent without its thinking, for example because its calls were
// dropped. After a revert, such a step was the last answer. Anthropic refuses a request if its last answer has calls
// and does not begin with its thinking.
func TestLastAnswerBeginsWithItsThinkingAfterARevert(t *testing.T) {
	for _, profile := range fusing {
		for _, drops := range []string{"drop 3", "drop 3 5", "drop 3 5 6", "drop 5 6"} {
			s := begin(t, profile, 1)
			s.happen("user u1: q\nassistant a1 (tool-calls): think signed \"r1\" | so | call bash c1 {} -> \"A\"\n" +
				"assistant a2 (tool-calls): think signed \"r2\" | so | call bash c2 {} -> \"B\"\n" +
				"assistant a3 (tool-calls): think signed \"r3\" | call bash c3 {} -> \"C\"\n" +
				"assistant t1..t20 (10%): think signed \"h#\" | call bash d# {\"n\":#} -> \"o#\"\nassistant a4 (10%): done\nuser u2: n")
			s.happen(drops + "\nflush")
			for _, last := range []string{"a3", "a2"} {
				s.happen("revert " + last + "\nuser after" + last + ": rather this")
				s.lastAnswerIs(last)
				s.steady("restart\nassistant b" + last + " (10%): think signed \"x\" | call bash e" + last + " {} -> \"E\"")
			}
		}
	}
}

// lastAnswerIs checks that the last answer on the wire has this key, begins with thinking, and is not joined with the
// answer before it.
func (s *story) lastAnswerIs(key string) {
	s.t.Helper()
	i := len(s.w.wire) - 1
	for s.w.wire[i].Role != "assistant" {
		i--
	}
	answer := &s.w.wire[i]
	if answer.Key != key || answer.Blocks[0].Kind != render.ReasoningBlock || s.w.wire[i-1].FusesWithNext() {
		s.t.Errorf("pass %d, profile %s: the last answer is not %s with its thinking:\n%s", s.pass, s.w.readings.Profile, key, s.w.text())
	}
}

// Bug J10: a failed answer with calls came directly before the newest step. The host assumed that these calls separate
// the newest step from the step before. But the provider does not see a failed answer, so it joined the two steps, and
// the joined answer began with the older step's text instead of thinking.
func TestFailedAnswerSeparatesNothing(t *testing.T) {
	for _, profile := range fusing {
		s := begin(t, profile, 1)
		s.happen("user u1: q\nassistant a1 (tool-calls): think signed \"r1\" | so | call bash c1 {\"n\":1} -> \"{9000 x}\"\n" +
			"assistant a2 (failed): so | call bash c2 {\"n\":2} -> \"{9000 y}\"\nuser u2: ignored \"status\"")
		s.happen("assistant a3 (tool-calls): think signed \"r3\" | so | call bash d1 {} -> \"D\" | call bash d2 {} -> \"D\" | call bash d3 {} -> \"D\"\npressure 120%")
		if s.w.session.State.ByTag(3).Active() {
			t.Errorf("%s: the test needs a pass that takes the result of c1", profile)
		}
		s.lastAnswerIs("a3")
	}
}

// Bug J11: a status that only the user sees followed the newest step. The host assumed that the model had read the
// results of this step, and dropped these results in an emergency.
func TestResultsBeforeAStatusAreUnread(t *testing.T) {
	for _, profile := range fusing {
		s := begin(t, profile, 1)
		s.happen("user u1: q\nassistant a1 (tool-calls): think signed \"r1\" | so | call bash c1 {\"n\":1} -> \"{900 x}\" | call bash c2 {\"n\":2} -> \"{900 x}\" | call bash c3 {\"n\":3} -> \"{900 x}\" | call bash c4 {\"n\":4} -> \"{900 x}\"\n" +
			"user s1: ignored \"status\"\npressure 105%")
		for tag := 3; tag <= 6; tag++ {
			if !s.w.session.State.ByTag(tag).Active() {
				t.Errorf("%s: the model has not read result %d", profile, tag)
			}
		}
	}
}

// Bug J12: drops emptied several steps, so that an answer with an empty text was all that was left of them. OpenCode
// sends empty texts to most providers. But the SDK for Claude turns this answer into a message without content, which
// the provider refuses.
func TestEmptyAnswerIsNotSent(t *testing.T) {
	for _, p := range render.Profiles {
		for name, part := range map[string]obj{"text": textPart("p2", ""), "reasoning": reasoningPart("p2", "", false)} {
			s := begin(t, p.Name, 1)
			s.w.add(message("u1", "user", s.w.now, nil, textPart("p1", "q")), message("a1", "assistant", s.w.now, nil, obj{"type": "step-start"}, part))
			s.happen("user u2: n")
			_, wire := s.w.arrays()
			// If the harness itself leaves out empty parts, the host does not change them.
			if sends := strings.Contains(string(wire[1]), `"type":"`+name+`"`); sends != p.DropsEmptyText {
				t.Errorf("%s: the empty answer is %s", p.Name, wire[1])
			}
			s.steady("assistant a2 (10%): so")
		}
	}
}

// Bug J14: the host put the synthetic todo list, which is a call, into an answer without calls. After a revert, this
// answer was the last one. It now had a call, but did not begin with thinking, so the provider refused the request.
func TestTodoListFollowsCallsOnly(t *testing.T) {
	for _, profile := range fusing {
		for _, think := range []string{"", `think signed "t" | `} {
			s := begin(t, profile, 1)
			s.happen("user u1: q\nassistant a1 (tool-calls): " + think + "call todowrite c1 {\"todos\":[{\"content\":\"A\",\"status\":\"pending\",\"priority\":\"high\"}]} -> \"1 todo\"\n" +
				"assistant t1..t20 (tool-calls): " + think + "call bash d# {\"n\":#} -> \"o#\"\nassistant a3: halfway\nuser u2: go on\nassistant a4 (10%): done\nuser u3: n")
			s.happen("drop 2\nflush")
			if todo := s.w.decision.Setup.Todo; todo.MessageKey != "t20" {
				t.Errorf("%s: the list stands after %q", profile, todo.MessageKey)
			}
		}
	}
}

// Bug J14: the only call of an answer was dropped, and the answer's thinking with it. Then the host put the synthetic
// todo list, which is a call, into this answer. After a revert, this answer was the last one. It had a call but no
// thinking, so the provider refused the request.
func TestTodoListStandsWhereThinkingIsComplete(t *testing.T) {
	for _, profile := range fusing {
		s := begin(t, profile, 1)
		s.happen("user u1: q\nassistant a1 (tool-calls): think signed \"r1\" | call todowrite c1 {\"todos\":[{\"content\":\"A\",\"status\":\"pending\",\"priority\":\"high\"}]} -> \"1 todo\"\n" +
			"assistant a2 (tool-calls): think signed \"r2\" | so | call bash c2 {} -> \"B\"\nassistant a3 (tool-calls): call bash c3 {} -> \"C\"\n" +
			"assistant t1..t20 (10%): think signed \"h#\" | call bash d# {\"n\":#} -> \"o#\"\nassistant a4 (10%): done\nuser u2: n")
		s.happen("drop 2 4 5\nflush")
		s.happen("revert a3\nuser u3: rather this\nflush")
		s.shows("call todowrite", false)
	}
}

// Bug J15: a turn ended with a notice of the harness, which the host removed as an empty shell. So the step before the
// notice became the last answer. This step had calls but no thinking, because the model had not used thinking yet. The
// provider therefore refused the request.
func TestAnswerAfterCallsKeepsAText(t *testing.T) {
	for _, profile := range fusing {
		s := begin(t, profile, 1)
		s.happen("user u1: q\nassistant a1 (tool-calls): call bash c1 {} -> \"A\"\nassistant a2: [SYSTEM DIRECTIVE: X] y\nassistant a3: [SYSTEM DIRECTIVE: X] y\nuser u2: n\nassistant a4 (10%): done\nuser u3: n")
		s.happen("drop 3 4\nflush")
		s.shows("a3 assistant: text", true)
		s.steady("restart")
		s.happen("revert a2\nuser u4: rather this")
		s.shows("a2 assistant: text \"[dropped", true)
		s.steady("restart\nassistant a5 (10%): done")
	}
}

// Bug F9: the three calls of a1 were dropped one after the other. The answer must keep one call, so the call that was
// dropped last must stay as a skeleton. Instead, the host put the newest call back on the wire, although it had already
// removed this call.
func TestDroppedCallDoesNotComeBack(t *testing.T) {
	for _, profile := range fusing {
		s := begin(t, profile, 1)
		s.happen("user u1: q\nassistant a1 (tool-calls): think signed \"r1\" | call bash c1 {\"n\":1} -> \"A\" | call bash c2 {\"n\":2} -> \"B\" | call bash c3 {\"n\":3} -> \"C\"\nuser u2: rather this\n" +
			"assistant t1..t20 (tool-calls): think signed \"h#\" | call bash d# {\"n\":#} -> \"o#\"\nassistant a4 (10%): done\nuser u3: n")
		for _, drop := range []string{"drop 4", "drop 2", "drop 3"} {
			s.happen(drop + "\nflush")
		}
		s.shows(`a1 assistant: reasoning "r1" call bash {"n":2} -> "[dropped §3§]"`+"\n", true)
		s.steady("restart\nassistant b1 (10%): so")
	}
}

// Bug F10: a turn ended with an empty answer. The provider refuses empty texts, so the host removed this answer. The
// answer before it then became the last one, and was refused: it had calls, but did not begin with thinking. Bug F25
// was the same for an unknown provider.
func TestEmptyAnswerAfterCallsKeepsAText(t *testing.T) {
	for _, profile := range []string{"vertex", "unknown"} {
		s := begin(t, profile, 1)
		s.happen("user u1: q\nassistant a1 (tool-calls): think signed \"r\" | call bash c1 {} -> \"A\"\nassistant a2 (tool-calls): call bash c2 {} -> \"B\"")
		s.w.add(message("a3", "assistant", s.w.now, obj{"finish": "stop"}, textPart("p1", "")))
		s.happen("")
		s.shows("a3 assistant", false) // no message follows a3 yet, so it gets no text
		s.steady("user u2: n")
		s.shows(`a3 assistant: text "[dropped]"`, true)
		s.steady("restart\nassistant a4 (10%): so")
	}
}

// Bug F24: the answer a1 ends with a call, and a2 has thinking and a text. Then the model continued with the step a3,
// without a prompt in between. The provider joins a2 and a3 into one answer, which must begin with thinking. It did,
// because a2 has thinking. But the rules looked only at a3, which has no thinking, and dropped the call of a1. Without
// this call, the provider joined a1 with the others, too. The joined answer then began with the text of a1 instead of
// with thinking.
func TestAnswerJoinedWithTheNewestStepKeepsItsThinking(t *testing.T) {
	const turn = "user u1: q\nassistant a1 (tool-calls): think signed \"r1\" | so | call bash c1 {\"n\":1} -> \"{9000 x}\"\nassistant a2: think signed \"r2\" | so\n"
	for _, profile := range fusing {
		s := begin(t, profile, 1)
		s.happen(turn + "assistant a3 (tool-calls): go on | call bash d1 {} -> \"D\" | call bash d2 {} -> \"D\" | call bash d3 {} -> \"D\"\npressure 120%")
		if s.w.session.State.ByTag(3).Active() {
			t.Errorf("%s: the test needs a pass that takes the result of c1", profile)
		}
		s.lastAnswerIsJoined("a2", "a3")

		for _, drops := range []string{"drop 3", "drop 3 6", "drop 3 4", "drop 3 4 5 6"} {
			s = begin(t, profile, 1)
			s.happen(turn + "assistant a3 (tool-calls): go on | call bash d1 {} -> \"D\"\nassistant t1..t20 (10%): think signed \"h#\" | call bash e# {\"n\":#} -> \"o#\"\nassistant a4 (10%): done\nuser u2: n")
			s.happen(drops + "\nflush")
			s.happen("revert a3\nuser u3: rather this")
			s.lastAnswerIsJoined("a2", "a3")
			s.steady("restart\nassistant a5 (10%): think signed \"x\" | so")
		}

		s = begin(t, profile, 1)
		s.happen(turn + "assistant a3 (tool-calls): go on | call bash d1 {} -> \"D\"\nuser u2: n\n" +
			"assistant t1..t20 (10%): think signed \"h#\" | call bash e# {\"n\":#} -> \"o#\"\nassistant a4 (10%): done\nuser u3: n")
		s.happen("drop 3\nflush")
		s.happen("revert u2")
		s.lastAnswerIsJoined("a2", "a3")
	}
}

// Bug F26: a turn ended with an answer that has thinking and no calls. The next pass dropped the call before this
// answer. Then the model continued without a prompt. Anthropic joined all three answers into one, which began with the
// text of the oldest instead of with thinking.
func TestAnswerThatMayGoOnKeepsItsThinking(t *testing.T) {
	for _, profile := range fusing {
		for _, answer := range []string{`think signed "r2" | so`, `think signed "r2"`} {
			for _, drop := range []string{"drop 3\nflush", "pressure 120%"} {
				s := begin(t, profile, 1)
				s.happen("user u1: q\nassistant a1 (tool-calls): think signed \"r1\" | so | call bash c1 {\"n\":1} -> \"{9000 x}\" | and\nassistant a2: " + answer + "\n" + drop)
				if s.w.session.State.ByTag(3).Active() {
					t.Errorf("%s: the test needs a pass that takes the result of c1", profile)
				}
				s.happen("assistant a3 (tool-calls): think signed \"r3\" | call bash d1 {} -> \"D\" | call bash d2 {} -> \"D\"")
				s.lastAnswerIsJoined("a2", "a3")
				s.steady("restart\nassistant a4 (10%): think signed \"x\" | so")
			}
		}
	}
}

// The last answer must also begin with thinking.
func (s *story) lastAnswerIsJoined(first, second string) {
	s.t.Helper()
	i := len(s.w.wire) - 1
	for s.w.wire[i].Role != "assistant" {
		i--
	}
	is := s.w.wire[i].Key == second && s.w.wire[i-1].Key == first && s.w.wire[i-1].FusesWithNext() && !s.w.wire[i-2].FusesWithNext()
	if !is || s.w.wire[i-1].Blocks[0].Kind != render.ReasoningBlock {
		s.t.Errorf("pass %d, profile %s: the last answer is not %s and %s with thinking first:\n%s", s.pass, s.w.readings.Profile, first, second, s.w.text())
	}
}

// Bug F25: with an unknown provider, the whole step is removed when its only call is dropped. If this step was the end
// of a turn, the step before it became the last answer. That step had calls, but did not begin with thinking. The
// unknown provider may serve one of Anthropic's models, which refuse such a request.
func TestStepThatEndsATurnStaysAtAGateway(t *testing.T) {
	const turn = "user u1: q\nassistant a1 (tool-calls): so | call bash c1 {} -> \"A\"\nassistant a2 (tool-calls): think signed \"r2\" | so | call bash c2 {} -> \"B\"\n"
	const rest = "assistant t1..t20 (10%): think signed \"h#\" | call bash e# {\"n\":#} -> \"o#\"\nassistant a4 (10%): done\nuser u3: n"
	s := begin(t, "unknown", 1)
	s.happen(turn + "user u2: n\n" + rest)
	s.happen("drop 5\nflush")
	s.happen("revert u2")
	s.lastAnswerIs("a2")
	s.steady("restart\nassistant a5 (10%): think signed \"x\" | so")

	s = begin(t, "unknown", 1) // the whole step is removed before the user reverts to it
	s.happen(strings.Replace(turn, `"r2" | so |`, `"r2" |`, 1) + rest)
	s.happen("drop 4\nflush")
	s.shows("a2 assistant", false)
	s.happen("revert a2\nuser u4: rather this")
	s.lastAnswerIs("a2")
	s.steady("restart\nassistant a5 (10%): think signed \"x\" | so")
}

// If the shim of OpenCode 2 misses events, it does not know the time of the newest answer. The bug: the host then
// assumed a long pause, and each pass busted.
func TestAnswerOfUnknownTimeIsNotIdle(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.w = newWorldOf(t, transcript.OpenCode2{}, true, 1)
	s.w.readings.Profile = "anthropic"
	s.happen("user u1: go\nassistant a1 (30%): call bash c1 {} -> \"x\"\nassistant a2 (31%): ok\nuser u2: on")
	for i, raw := range s.w.raw {
		s.w.raw[i] = regexp.MustCompile(`"(created|completed)":\d+`).ReplaceAll(raw, []byte(`"$1":0`))
	}
	s.w.held, s.w.changed = 0, true
	s.happen("pause 1s\nuser u3: and?")
	if s.w.decision.Cause == CauseIdle {
		t.Errorf("%s (%s)", s.w.decision.Verdict, s.w.decision.Cause)
	}
	s.happen("pause 10m\nuser u4: still there?")
	if s.w.decision.Cause != CauseIdle {
		t.Errorf("after a pause: %s (%s)", s.w.decision.Verdict, s.w.decision.Cause)
	}
}
