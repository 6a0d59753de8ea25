package pipeline

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/schema"
)

func TestDefectC1ReusedCallIDGetsItsOwnTag(t *testing.T) {
	for _, ids := range []bool{true, false} {
		w := newWorld(t, true, 1)
		first, second := toolPart("", "read:1", "read", obj{"f": 1}, "one"), toolPart("", "read:1", "read", obj{"f": 2}, "two")
		if ids {
			first["id"], second["id"] = "prt_1", "prt_2"
		}
		w.add(message("u1", "user", w.now, nil, textPart("p1", "q")), message("a1", "assistant", w.now, nil, first),
			message("a2", "assistant", w.now, nil, second), message("u2", "user", w.now, nil, textPart("p2", "q")))
		w.usage(10)
		w.pass()
		if !strings.Contains(w.text(), `"§2§ one"`) || !strings.Contains(w.text(), `"§3§ two"`) {
			t.Fatalf("with part ids %v:\n%s", ids, w.text())
		}
		w.queue(2)
		w.usage(70)
		w.pass()
		if !strings.Contains(w.text(), `"§3§ two"`) {
			t.Errorf("dropping one call dropped the other:\n%s", w.text())
		}
	}
}

func TestDefectC2MovedPartKeepsTextAndTag(t *testing.T) {
	for _, ids := range []bool{true, false} {
		w := newWorld(t, true, 1)
		one, two := obj{"type": "text", "text": "one"}, obj{"type": "text", "text": "two"}
		if ids {
			one["id"], two["id"] = "prt_1", "prt_2"
		}
		w.add(message("a1", "assistant", w.now, nil, one, two))
		w.pass()
		w.replace(0, message("a1", "assistant", w.now, nil, obj{"type": "step-start"}, one, two))
		w.pass()
		if want := "a1 assistant: text \"§1§ one\" text \"§2§ two\"\n"; w.text() != want {
			t.Errorf("with part ids %v: got %s", ids, w.text())
		}
	}
}

func TestDefectC8BlankTextGetsNoTag(t *testing.T) {
	w := newWorld(t, true, 1)
	w.add(message("u1", "user", w.now, nil, textPart("p1", " \n"), textPart("p2", "q"), textPart("p3", "")))
	w.pass()
	if want := "u1 user: text \" \\n\" text \"§1§ q\"\n"; w.text() != want {
		t.Errorf("got %s", w.text())
	}
}

// Bug C11: the first pass after a restart assumed that the prompt was empty. So it freed no space, although the prompt
// filled 90 % of the window.
func TestDefectC11PressureSurvivesARestart(t *testing.T) {
	w := newWorld(t, true, 1)
	w.add(message("u1", "user", w.now, nil, textPart("p1", "q")), message("a1", "assistant", w.now, nil, textPart("p2", "x")),
		message("u2", "user", w.now, nil, textPart("p3", "q")))
	w.pass()
	w.queue(1)
	w.usage(90)
	w.restart()
	w.pass()
	if w.decision.Cause != CauseForce || len(w.decision.Edits) != 1 {
		t.Errorf("%s (%s), edits %v", w.decision.Verdict, w.decision.Cause, w.decision.Edits)
	}
}

// Bug C12: if a pass dropped a unit of one message, empty messages elsewhere in the array disappeared, too.
func TestDefectC12DropTouchesOnlyItsMessage(t *testing.T) {
	w := newWorld(t, true, 1)
	w.add(message("u1", "user", w.now, nil, textPart("p1", "q")),
		message("a0", "assistant", w.now, nil, obj{"id": "s", "type": "step-start"}, textPart("pb", " ")),
		message("a1", "assistant", w.now, nil, toolPart("p2", "c1", "read", obj{}, "out")),
		message("u2", "user", w.now, nil, textPart("p3", "q")))
	w.pass()
	w.queue(2)
	w.usage(70)
	w.pass()
	if len(w.patches["a0"]) != 0 || !strings.Contains(w.text(), "a0 assistant: text \" \"\n") {
		t.Errorf("patch of a0: %v\n%s", w.patches["a0"], w.text())
	}
}

// Bug C18: after a long pause in the middle of a turn, the prefix was gone. The host nevertheless delayed the bust to
// the end of the turn, and then forgot it. It must bust at once: without a cached prefix, waiting saves nothing.
func TestDefectC18IdleInTheMiddleOfATurnIsNotLost(t *testing.T) {
	w := newWorld(t, true, 1)
	w.add(message("u0", "user", w.now, nil, textPart("p0", "q0")), message("u1", "user", w.now, nil, textPart("p1", "q")),
		message("a1", "assistant", w.now, obj{"finish": "tool-calls"}, toolPart("p2", "c1", "bash", obj{}, "slept for ten minutes")))
	w.pass()
	w.queue(1)
	w.now += 600_000
	w.pass()
	if w.decision.Verdict != schema.Hard || len(w.session.State.Queue()) != 0 {
		t.Errorf("%s (%s), queue %s", w.decision.Verdict, w.decision.Cause, tagsOf(w.session.State.Queue()))
	}
}

// Bug C3: the wire of a message depends on which part is its first content. The pass that dropped a part determined the
// first content before its drops, and the next pass determined it after them. So the wire changed a second time.
func TestDefectC3BustAndNextPassSendTheSame(t *testing.T) {
	for _, first := range []string{
		`think signed "r1" | call read k1 {} -> "A"`,
		`think signed "r1" | x | call read k1 {} -> "A"`,
		`x | call read k1 {} -> "A"`,
		`call read k1 {} -> "A" | x`,
		`x`,
	} {
		s := begin(t, "anthropic", 1)
		s.happen("user u1: q\nassistant a1: " + first + "\nassistant a2: think signed \"r2\" | mid | call read k2 {\"f\":2} -> \"B\"\n" +
			"assistant t1..t20 (10%): call bash c# {\"n\":#} -> \"o#\"\nuser u2: n")
		s.happen("drop 2 3\nflush")
		if !s.w.result.Bust {
			t.Errorf("%s: the test needs a bust", first)
		}
		s.steady("")
		s.steady("restart")
		s.steady("resync\nassistant a9 (10%): done\nuser u9: m")
	}
}

// Bug C4: when a pass removed an injected block from an answer, it also left out the answer's reasoning. The next pass
// sent the reasoning again, so the wire changed a second time.
func TestDefectC4StrippedAnswerKeepsItsReasoning(t *testing.T) {
	for _, signed := range []string{"", "signed "} {
		s := begin(t, "anthropic", 1)
		s.happen("user u1: q\nassistant a1 (10%): think " + signed + "\"why\" | so <system-reminder>x</system-reminder> it is\nuser u2: n")
		s.shows("system-reminder", false) // the first pass may remove the reminder
		s = begin(t, "anthropic", 1)
		s.happen("user u1: q")
		s.steady("assistant a1 (10%): think " + signed + "\"why\" | so <system-reminder>x</system-reminder> it is\nuser u2: n")
		s.shows("system-reminder", true)
		s.happen("flush")
		s.shows(`a1 assistant: reasoning "why" text "§2§ so  it is"`, true)
		s.steady("")
		s.steady("restart")
	}
}

// Fixed bug: a broken session file held the time -1, and the model read that the user had been away since 1969.
func TestPauseAfterAnImpossibleTimeIsNotShown(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.happen("user u1: go\nassistant a1 (10%): ok")
	for i, raw := range s.w.raw {
		s.w.raw[i] = anyTime.ReplaceAll(raw, []byte("$1-1"))
	}
	s.w.held = 0
	s.happen("user u2: back")
	s.shows("u2 user: text \"§3§ back\"", true)
}

var anyTime = regexp.MustCompile(`("(?:created|completed)":)\d+`)

// Bug C5: the user switched the marks of pauses on or off, but messages that already had a tag never changed. They must
// change on the next pass after the prefix is lost.
func TestDefectC5PausesCanBeSwitchedOnAndOff(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.w.readings.Gaps = false
	s.happen("user u1: go\nassistant a1 (10%): ok")
	s.happen("pause 2h\nuser u2: back")
	s.shows("<!-- +2h -->", false)
	s.w.readings.Gaps = true
	s.steady("assistant a2 (10%): hi\nuser u3: n")
	s.happen("pause 1h\nuser u4: again")
	s.shows("u2 user: text \"§3§ <!-- +2h -->", true)
	s.shows("u4 user: text \"§6§ <!-- +1h -->", true)
	s.w.readings.Gaps = false
	s.steady("assistant a3 (10%): hi\nuser u5: n")
	s.happen("user u6 (m2): other")
	s.shows("<!--", false)
}

// Bug C7: the host dropped a call of ctx_reduce from an answer that held only reasoning and this call. The answer was
// then sent with nothing but its reasoning, which some providers refuse.
func TestDefectC7ReasoningGoesWithItsReduceCall(t *testing.T) {
	for _, signed := range []string{"", "signed "} {
		s := begin(t, "anthropic", 1)
		s.happen("user u1: q")
		s.steady("assistant a1 (10%): think " + signed + "\"why\" | call ctx_reduce c1 {} -> \"ok\"\nassistant a2 (10%): x\nuser u2: n")
		s.happen("flush")
		s.shows("a1 ", false)
		s.steady("restart")
	}
}

// Bug C9: the host replaced old reasoning with the text [cleared]. Some providers refuse changed reasoning.
func TestDefectC9ReasoningIsNeverReplacedByCleared(t *testing.T) {
	for _, p := range render.Profiles {
		s := begin(t, p.Name, 1)
		s.w.readings.Knobs.ReasoningAge = 1
		s.happen("user u1: q\nassistant a1: think \"r1\" | x | call read c1 {} -> \"A\"\nassistant a2: think signed \"r2\" | call read c2 {} -> \"B\"\n" +
			"assistant t1..t20 (10%): think \"hm\" | call bash d# {\"n\":#} -> \"o#\"\nassistant a3: think \"r3\" | y\nuser u2: n")
		s.happen("drop 2 3 4 5 6 25\nflush")
		s.shows("[cleared]", false)
		s.shows(`text ""`, false)
		s.shows(`reasoning ""`, false)
		s.steady("restart")
	}
}

// Bug C13: a call in the provider's format ("tool_use") got no tag. This is intended: OpenCode never sends such a part,
// so the host must treat it as unknown content, and must not change it.
func TestDefectC13UnknownShapesAreLeftAlone(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.w.add(message("u1", "user", s.w.now, nil, textPart("p1", "q")))
	s.w.add(message("a1", "assistant", s.w.now, nil, textPart("p2", "x"), obj{"type": "tool_use", "id": "c1", "name": "read", "input": obj{}}))
	s.w.add(message("u2", "user", s.w.now, nil, obj{"type": "tool_result", "tool_use_id": "c1", "content": "A"}))
	s.happen("assistant a2 (10%): y\nuser u3: n")
	if n := s.w.session.State.TagCounter; n != 4 {
		t.Errorf("%d tags, want 4", n)
	}
	s.happen("drop 2 3\nflush")
	s.shows(`a1 assistant: text "[dropped §2§]" other "{\"id\":\"c1\"`, true)
	s.shows(`u2 user: other "{\"content\":\"A\"`, true)
}

// Bug class D2: the text of unit 1 starts with "§5§" although no unit has the tag 5 yet. Later, a unit gets this tag.
// The text must still keep its "§5§", because any change to it would bust the prefix.
func TestTextKeepsATagThatIsGivenLater(t *testing.T) {
	w := newWorld(t, true, 1)
	w.add(message("u1", "user", w.now, nil, textPart("p1", "§5§ prompt")))
	w.add(message("a1", "assistant", w.now, nil, textPart("p2", "§5§ answer"), toolPart("p3", "c1", "read", obj{}, "§5§ output")))
	for n := range 8 {
		id := fmt.Sprintf("u%d", n+2)
		w.add(message(id, "user", w.now, nil, textPart("p-"+id, "more")))
		w.pass()
		if w.result.BustCause == BustUnexplained {
			t.Fatalf("pass %d busts without a reason", n)
		}
		if n == 3 {
			w.restart()
		}
	}
	const want = "u1 user: text \"§1§ §5§ prompt\"\na1 assistant: text \"§2§ §5§ answer\" call read {} -> \"§3§ §5§ output\"\n"
	if !strings.HasPrefix(w.text(), want) {
		t.Errorf("got %s", w.text())
	}
}

// Bug C17: the host took a running call for a finished call, and dropped it.
func TestDefectC17RunningToolSurvivesAnEmergency(t *testing.T) {
	s := begin(t, "anthropic", 1)
	running := obj{"id": "r", "type": "tool", "callID": "c0", "tool": "bash", "state": obj{"status": "running", "input": obj{"command": strings.Repeat("x", 4000)}}}
	s.w.add(message("u1", "user", s.w.now, nil, textPart("p1", "q")), message("a1", "assistant", s.w.now, nil, running))
	s.happen("assistant t1..t20 (tool-calls, 10%): call bash c# {\"n\":#} -> \"{400 x}\"")
	s.happen("drop 2\nassistant t21 (tool-calls, 99%): call bash c21 {} -> \"o\"")
	if !s.w.session.State.ByTag(2).Active() || s.w.session.State.ByTag(3).Active() || !s.w.session.State.Queued(2) {
		t.Errorf("%s (%s), edits %v", s.w.decision.Verdict, s.w.decision.Cause, s.w.decision.Edits)
	}
}

// Bug C19: a pass first removed injected blocks and then dropped a call. It sent the answer's reasoning with a changed
// text but the old signature. The next pass sent no signature, so the wire changed again.
func TestDefectC19DroppedCallTakesItsReasoningWhole(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.happen("user u1: q\nassistant a0: think signed \"why\"\nassistant a1: think signed \"r1\" | call read c1 {} -> \"A\" | call read c2 {} -> \"B\"\n" +
		"assistant a2: think signed \"r2\" | call read c3 {\"f\":3} -> \"C\"\nassistant t1..t20 (10%): call bash d# {\"n\":#} -> \"o#\"\nuser u2: n")
	s.happen("drop 2 4\nflush")
	for _, m := range s.w.wire {
		for _, b := range m.Blocks {
			if b.Kind == render.ReasoningBlock && !strings.Contains(string(b.Signature), "sig-"+b.Text) {
				t.Errorf("%s: reasoning %q with signature %s", m.Key, b.Text, b.Signature)
			}
		}
	}
	s.shows("r2", false)
	s.steady("")
	s.steady("restart")
}

func tagsOf(queue []frozen.QueuedDrop) string {
	var tags []string
	for _, q := range queue {
		tags = append(tags, fmt.Sprint(q.Tag))
	}
	return strings.Join(tags, ",")
}

// OpenAI refuses a text without its reasoning item, and a reasoning item without a text or call after it. So the host
// removes reasoning only together with the last text or call after it.
func TestReasoningStaysWithItsTextIfRequired(t *testing.T) {
	for profile, want := range map[string]string{
		"anthropic": "a1 assistant: text \"§2§ so\"\n",
		"openai":    "a1 assistant: reasoning \"why\" text \"§2§ so\"\n",
	} {
		w := newWorld(t, true, 1)
		w.readings.Profile = profile
		w.add(message("u1", "user", w.now, nil, textPart("p1", "q")),
			message("a1", "assistant", w.now, nil, reasoningPart("p2", "why", true), textPart("p3", "so"), toolPart("p4", "c1", "bash", obj{}, "out")),
			message("a2", "assistant", w.now, nil, reasoningPart("p5", "why2", true), toolPart("p6", "c2", "bash", obj{}, "out")))
		for i := range 20 {
			w.add(message(fmt.Sprintf("b%d", i), "assistant", w.now, nil, toolPart(fmt.Sprintf("t%d", i), fmt.Sprintf("d%d", i), "bash", obj{"n": i}, "o")))
		}
		w.add(message("u2", "user", w.now, nil, textPart("p9", "q")))
		w.pass()
		w.queue(3, 4)
		w.readings.Flush = true
		w.pass()
		if got := w.text(); !strings.Contains(got, want) || strings.Contains(got, "a2 ") {
			t.Errorf("%s:\n%s", profile, got)
		}
	}
}

// Bug F18: a rule had shortened an argument of a failed call. When the call later became a skeleton, the host sent this
// argument whole again, because a skeleton shortens only arguments of more than 500 characters.
func TestClampedArgumentsDoNotComeBack(t *testing.T) {
	s := begin(t, "anthropic", 5)
	s.happen("user u1: q")
	s.happen("assistant a1 (tool-calls): call write c1 {\"path\":\"/a\",\"content\":\"{250 x}\"} -> error \"no\"")
	s.happen("assistant t1..t8 (tool-calls): call bash d# {} -> \"o\"\nassistant a2: done\nuser u2: n\nflush")
	clamped := s.w.text()
	if strings.Contains(clamped, "xxxxxxxxxx") {
		t.Fatalf("the argument is not clamped:\n%.1000s", clamped)
	}
	s.happen("drop 2\nflush")
	for _, when := range []string{"as a skeleton", "after a restart"} {
		if wire := s.w.text(); !strings.Contains(wire, "[dropped §2§]") || strings.Contains(wire, "xxxxxxxxxx") {
			t.Errorf("%s:\n%.1000s", when, wire)
		}
		s.w.restart()
		s.steady("")
	}
}

// Bug F17: in a small window, the texts of old answers had been dropped, but the reasoning of these answers still
// filled the window. This provider requires the reasoning only in answers with calls, but the host removed no reasoning
// at all.
func TestSpentReasoningLeaves(t *testing.T) {
	for _, c := range []struct {
		name, profile, answer, drops string
		leaves                       bool
		model                        string
	}{
		{"the text is dropped", "openai-compatible", "think \"{40000 x}\" | so", "2", true, ""},
		{"a part of the text is left", "openai-compatible", "think \"{40000 x}\" | so | and so", "2", false, ""},
		{"the call is left", "openai-compatible", "think \"{40000 x}\" | so | call bash c1 {} -> \"A\"", "2", false, ""},
		{"OpenAI checks it", "openai", "think signed \"{40000 x}\" | so", "2", false, ""},
		{"Claude checks it", "anthropic", "think signed \"{40000 x}\" | so", "2", false, ""},
		{"another model wrote it", "openai", "think signed \"{40000 x}\" | so", "2", true, " (m2)"},
		{"another model of the same provider", "anthropic", "think signed \"{40000 x}\" | so", "2", true, " (m2)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := begin(t, c.profile, 20)
			s.w.readings.Knobs.ProtectedTags = 5
			s.happen("user u1: q")
			finish := ""
			if strings.Contains(c.answer, "call") {
				finish = " (tool-calls)"
			}
			s.happen("assistant a1" + finish + ": " + c.answer + "\nuser u2: n")
			s.happen("assistant b1..b8: so it is #\nuser u3: n\ndrop " + c.drops + "\nflush")
			s.happen("assistant a2 (98%): so\nuser u4" + c.model + ": n")
			if left := !strings.Contains(s.w.text(), "xxxx"); left != c.leaves {
				t.Errorf("the reasoning has left: %v, want %v\n%.2000s", left, c.leaves, s.w.text())
			}
			wire := s.w.text()
			s.w.restart()
			s.steady("")
			if again := s.w.text(); again != wire {
				t.Errorf("after a restart:\n%.2000s\nbefore:\n%.2000s", again, wire)
			}
		})
	}
}
