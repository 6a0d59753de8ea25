package pipeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// The tests in this file and in defects_test.go are named after the bug classes A, B and C in docs/defects.md.

// Bug A10, second case: after a pause of ten minutes, every pass busted until the next answer came, even if the passes
// were a second apart. The reason: a rule drops an output only if an earlier pass could already have dropped it. The
// host counted the first bust after the pause as such an earlier pass, so the second bust could drop more, and so on.
func TestBugA10IdleBustsOnceBeforeTheAnswer(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.happen("user u1: go\nassistant t1..t30 (10%): call bash c# {\"n\":#} -> \"{4000 x}\"\nassistant a1 (62%): done\nuser u2: n")
	s.happen("pause 10m\nuser u3: back")
	if s.w.decision.Cause != CauseIdle {
		t.Fatalf("%s (%s)", s.w.decision.Verdict, s.w.decision.Cause)
	}
	s.steady("pause 1s")
	s.steady("pause 1s\nrestart\nuser u4: hello?")
	s.happen("pause 6m\nuser u5: still there?") // the provider has dropped the prefix again
	if s.w.decision.Cause != CauseIdle {
		t.Errorf("%s (%s)", s.w.decision.Verdict, s.w.decision.Cause)
	}
}

func begin(t *testing.T, profile string, protected int) *story {
	s := &story{t: t, ids: map[string]int{}, lines: map[string]string{}, w: newWorld(t, true, protected)}
	s.w.readings.Profile = profile
	return s
}

func (s *story) steady(text string) {
	s.t.Helper()
	s.happen(text)
	if s.w.decision.Verdict != schema.Steady || len(s.w.decision.Edits) > 0 || !s.w.extends() {
		s.t.Errorf("pass %d: %s (%s), edits %v, extends %v:\n%.3000s", s.pass, s.w.decision.Verdict, s.w.decision.Cause, s.w.decision.Edits, s.w.extends(), s.w.text())
	}
}

func (s *story) shows(what string, want bool) {
	s.t.Helper()
	if strings.Contains(s.w.text(), what) != want {
		s.t.Errorf("pass %d: %q on the wire, want %v:\n%.3000s", s.pass, what, want, s.w.text())
	}
}

// Bug A1: a call of ctx_reduce becomes removable when enough messages follow it. A steady pass removed such a call from
// the prefix, and so invalidated the provider's cache.
func TestBugA1OldReduceCallGoesOnABustOnly(t *testing.T) {
	s := begin(t, "anthropic", 0)
	s.happen("user u0: go")
	s.steady("assistant m1 (10%): call ctx_reduce c1 {} -> \"ok\"\nassistant m2: a\nassistant m3: b | call ctx_reduce c3 {} -> \"ok\"\nassistant m4: c")
	s.shows("m1 assistant: call ctx_reduce", true)

	s.w.readings.Knobs.ProtectedTags = 3
	s.happen("flush")
	if got := fmt.Sprint(s.w.decision.Edits); got != "[{2 drop}]" {
		t.Fatalf("with three messages protected: %s", got)
	}
	const detected = "u0 user: text \"§1§ go\"\nm2 assistant: text \"§3§ a\"\nm3 assistant: text \"§4§ b\" call ctx_reduce {} -> \"§5§ ok\"\nm4 assistant: text \"§6§ c\"\n"
	if got := s.w.text(); got != detected {
		t.Errorf("wire:\n%s", got)
	}
	s.w.readings.Knobs.ProtectedTags = 0
	s.steady("") // the dropped call is not sent again, and no other call is dropped
	s.steady("restart")
	if got := s.w.text(); got != detected {
		t.Errorf("wire:\n%s", got)
	}
	s.happen("user u5: go on\nflush") // the prompt ends the turn; before, the model could still have added a step to it
	if got := fmt.Sprint(s.w.decision.Edits); got != "[{5 drop}]" {
		t.Errorf("with none protected: %s", got)
	}
	s.shows("m3 assistant: text \"§4§ b\"\n", true)
}

// Bug A2: the host stored a mark behind the newest message that the model had seen, and removed the screenshots before
// this mark. When the mark moved, more screenshots disappeared, without a bust.
func TestBugA2ImageGoesOnABustOnly(t *testing.T) {
	s := begin(t, "anthropic", 6)
	image := obj{"id": "i1", "type": "file", "mime": "image/png", "url": "data:image/png;base64," + strings.Repeat("A", 300)}
	s.w.add(message("u1", "user", s.w.now, nil, textPart("p1", "look"), image))
	s.happen("assistant a1 (10%): seen | call read c1 {} -> \"A\"")
	s.happen("drop 3\nuser u2 (m2): go on") // the result of the read is dropped; the image is still protected, because it is new
	if got := fmt.Sprint(s.w.decision.Edits); got != "[{3 drop}]" {
		t.Fatalf("edits %s", got)
	}
	for i := range 4 { // these messages make the image old enough to be removed
		s.steady(fmt.Sprintf("assistant b%d (10%%): more\nuser v%d (m2): more", i, i))
		s.shows("base64", true)
	}
	s.happen("flush")
	s.shows("base64", false)
	s.steady("restart")
	s.shows("base64", false)
}

// Bug A3: the host computed the placeholder from the unit's text, after an earlier step of the same pass had already
// changed this text. So another pass could compute a different placeholder.
func TestBugA3PlaceholderDependsOnTheTagAlone(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.happen("user u1: [dropped §9§] what is this? | file image\n" +
		"assistant a1 (10%): §3§ [dropped §3§] | call read c1 {} -> \"[dropped §7§]\" | call read c2 {\"f\":\"b\"} -> \"B\"\n" +
		"user u2: <system-reminder>x</system-reminder> hm\nuser u3: next")
	s.happen("drop 1 2 3 4 6\nflush")
	const want = "u1 user: text \"[dropped §1§]\" text \"[dropped §2§]\"\n" +
		"a1 assistant: text \"[dropped §3§]\" call read {} -> \"[dropped §4§]\" call read {\"f\":\"b\"} -> \"§5§ B\"\n" +
		"u2 user: text \"[dropped §6§]\"\nu3 user: text \"§7§ next\"\n"
	for _, next := range []string{"", "restart", "resync", "pause 6m\nuser u4: x", "restart\nflush"} {
		if got := s.w.text(); !strings.HasPrefix(got, want) {
			t.Errorf("before %q:\n%s", next, got)
		}
		s.happen(next)
	}
}

// Bug A4: a pass was classified as a bust, but then dropped none of the requested units, because that was not worth a
// bust. It still removed reasoning and injected blocks, so the prefix was lost for almost nothing.
func TestBugA4BustThatIsNotWorthItCleansNothing(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.w.readings.Price = quarterAndTenth
	s.w.readings.Knobs.ReasoningAge = 1
	s.happen("user u1: go")
	s.steady("assistant a1: think \"hm\" | call read c1 {} -> \"A\"\nassistant a2 (10%): call read c2 {} -> \"A\"\nuser u2: <system-reminder>x</system-reminder> {9000 y}")
	s.happen("assistant a3 (70%): fine\nuser u3: go on\ndrop 3")
	if s.w.decision.Cause != CausePrice {
		t.Fatalf("%s (%s): the test needs a bust that costs more than it saves", s.w.decision.Verdict, s.w.decision.Cause)
	}
	if !s.w.extends() || len(s.w.decision.Edits) > 0 || tagsOf(s.w.session.State.Queue()) != "3" {
		t.Errorf("edits %v, queue %s:\n%s", s.w.decision.Edits, tagsOf(s.w.session.State.Queue()), s.w.text())
	}
	s.w.readings.Price = schema.Price{}
	s.happen("")
	if got := fmt.Sprint(s.w.decision.Edits); !strings.Contains(got, "unthink") || !strings.Contains(got, "strip") || !strings.Contains(got, "{3 skeleton}") {
		t.Errorf("without a price: %s (%s), edits %s", s.w.decision.Verdict, s.w.decision.Cause, got)
	}
}

// Bug A8: when the provider had lost the prefix, the host stored a request for a bust, as if the user had asked for a
// flush. It never cleared this request, so the next passes busted again.
func TestBugA8HardPassEndsItself(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.happen("user u1: go\nassistant t1..t30 (10%): call bash c# {\"n\":#} -> \"o#\"\nuser u2: and?")
	epoch := s.w.session.Meta.Epoch
	s.happen("pressure 70%\ndrop 2 3\npause 10m\nuser u3: back")
	if s.w.decision.Cause != CauseIdle || s.w.session.Meta.Epoch != epoch+1 {
		t.Fatalf("%s (%s), epoch %d", s.w.decision.Verdict, s.w.decision.Cause, s.w.session.Meta.Epoch)
	}
	for i := range 3 {
		s.steady(fmt.Sprintf("assistant b%d (tool-calls, 71%%): call bash d%d {} -> \"x\"", i, i))
	}
	if s.w.session.Meta.Epoch != epoch+1 {
		t.Errorf("epoch %d", s.w.session.Meta.Epoch)
	}
}

// Bug A17: cleared reasoning and compressed text came back on the next pass.
func TestBugA17RemovedContentStaysRemoved(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.w.readings.Knobs.ReasoningAge, s.w.readings.Knobs.CompressFrom = 1, 20
	s.happen("user u1: I think we should just use the database.\nassistant a1 (10%): think \"hm\" | <think>aloud</think> so\nuser u2: next\nassistant a2 (10%): ok\nuser u3: go")
	s.happen("flush")
	s.shows("database", true)
	for _, next := range []string{"", "restart", "resync", "assistant a3 (10%): fine\nuser u4: x"} {
		for _, gone := range []string{"hm", "aloud", "I think"} {
			s.shows(gone, false)
		}
		s.steady(next)
	}
}

// Bug A18: a text that compression cannot shorten was compressed again on every bust.
func TestBugA18IncompressibleTextIsDecidedOnce(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.w.readings.Knobs.CompressFrom = 500
	s.happen("user u1: {600 x}\nassistant a1 (10%): ok\nuser u2: next")
	if got := fmt.Sprint(s.w.decision.Edits); got != "[{1 compress 3}]" {
		t.Fatalf("edits %s", got)
	}
	s.shows(strings.Repeat("x", 600), true)
	for range 2 {
		s.happen("flush\nrestart")
		if len(s.w.decision.Edits) > 0 {
			t.Errorf("again: %v", s.w.decision.Edits)
		}
	}
}

// Bug A19: the mark of a pause appeared and disappeared, because only some passes computed it. They computed it from
// the time of the message before the pause, and a revert or a summary can remove this message.
func TestBugA19PauseIsShownForEver(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.happen("user u1: go\nassistant a1 (10%): ok")
	s.happen("pause 2h15m\nuser u2: back")
	const mark = `u2 user: text "§3§ <!-- +2h 15m -->\nback"`
	for _, next := range []string{"assistant a2 (10%): hi\nuser u3: x", "", "restart", "resync"} {
		s.shows(mark, true)
		s.steady(next)
	}
	s.w.raw, s.w.held = s.w.raw[2:], 0 // the harness has compacted the first two messages
	s.w.pass()
	s.shows(mark, true)
}

// Bug A20: if the call that wrote the todo list is dropped, the host shows a copy of the list on the wire. When the
// model changed its list, the copy in the old message changed too.
func TestBugA20TodoListStaysAsItWasShown(t *testing.T) {
	const todo = `call todowrite %s {"todos":[{"content":"%s","status":"pending","priority":"high"}]} -> "ok"`
	s := begin(t, "anthropic", 1)
	s.happen("user u1: go\nassistant a1 (10%): " + fmt.Sprintf(todo, "c1", "A") + "\nassistant a2 (10%): so | call bash c3 {} -> \"C\"\nuser u2: on")
	s.happen("drop 2\nflush")
	const shown = "a2 assistant: text \"§3§ so\" call bash {} -> \"§4§ C\" call todowrite"
	s.shows(shown, true)
	s.steady("restart")
	s.shows(shown, true)
	s.happen("assistant b1 (10%): fine\nuser v1: on\nflush") // a further bust does not move the list either
	if !s.w.extends() {
		t.Errorf("the list was moved:\n%s", s.w.text())
	}
	s.steady("assistant a3 (10%): " + fmt.Sprintf(todo, "c2", "B") + "\nuser u3: on")
	s.shows(shown, true) // list A stays until the next bust
	s.steady("restart\nassistant a4 (10%): more\nuser u4: on")
	s.shows(shown, true)
	s.happen("flush")
	s.shows(shown, false) // the wire contains the call of list B itself
}

// Bug A28: the user could set a threshold above 80 %. Between this threshold and the force level, a pass was not
// allowed to bust, but some rules already removed content.
func TestBugA28EveryPressureFromTheThresholdOnIsABust(t *testing.T) {
	for _, threshold := range []float64{20, 65, 80} {
		for percent := 0.0; percent <= 130; percent += 0.5 {
			verdict, cause := Schedule(Signals{Percent: percent, Threshold: threshold, LastResponse: 1, Now: 2, TTL: time.Minute})
			g := rule.Goal{Ceiling: int(threshold * 1000)}
			occasion := occasionOf(Assessment{Verdict: verdict, Percent: percent, Size: Size{Current: int(percent * 1000)}}, g)
			if mayBust := verdict != schema.Steady; mayBust != (percent >= threshold) || mayBust != (occasion > rule.AnyBust) {
				t.Fatalf("threshold %v, at %v: %s (%s), occasion %d", threshold, percent, verdict, cause, occasion)
			}
		}
	}
}

// Bug A29: no answer came between two passes, so both used the same reported prompt size. This size does not show what
// the first pass has freed. So the second pass believed that the prompt was still too long, and dropped the rest of the
// tail.
func TestBugA29SameMeasurementDropsNothingMore(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.happen("user u1: go\nassistant t1..t10 (tool-calls, 10%): call bash c# {\"n\":#} -> \"{2400 x}\"\nassistant t11 (tool-calls, 10%): call bash c11 {} -> \"o\"")
	s.happen("assistant t12 (tool-calls, 93%): call bash c12 {} -> \"o\"")
	if s.w.decision.Cause != CauseForce || s.w.decision.FreedBy["tiered drop"] == 0 {
		t.Fatalf("%s (%s), freed by %v", s.w.decision.Verdict, s.w.decision.Cause, s.w.decision.FreedBy)
	}
	s.happen("assistant t13..t16 (tool-calls): call bash c# {\"n\":#} -> \"{4400 x}\"")
	if p := s.w.decision.Percent; p < ForcePercent || p >= EmergencyPercent {
		t.Fatalf("pressure is %v: the test needs one at which the tiered drop would be asked", p)
	}
	for tag := 14; tag <= 17; tag++ { // the two-pass reclaim takes only older tags
		if !s.w.session.State.ByTag(tag).Active() {
			t.Errorf("§%d§ was dropped without a new measurement, by %v", tag, s.w.decision.FreedBy)
		}
	}
	s.happen("assistant t17..t20 (tool-calls, 93%): call bash c# {\"n\":#} -> \"{4000 x}\"") // this answer reports a new usage
	if s.w.decision.FreedBy["tiered drop"] == 0 {
		t.Errorf("%s (%s), freed by %v", s.w.decision.Verdict, s.w.decision.Cause, s.w.decision.FreedBy)
	}
}

// Bug A32: if a message had no content left, the host removed the whole message from the array. Caches between the
// harness and the provider identify messages by their position, so they no longer matched.
func TestBugA32NoPatchTakesAMessageOut(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.happen("user u1: go\nassistant a1 (10%): x\nassistant t1..t21 (10%): call bash c# {\"n\":#} -> \"o#\"\nuser u2: next")
	s.happen("drop 1 2 3 4 5\nflush")
	for key, patch := range s.w.patches {
		for _, op := range patch {
			if !strings.HasPrefix(op.Path, "/parts/") {
				t.Errorf("%s: %s %s", key, op.Op, op.Path)
			}
		}
	}
	if _, cleared := s.w.session.Mutation(); len(cleared) > 0 || len(s.w.raw) != 24 {
		t.Errorf("cleared %v, %d messages", cleared, len(s.w.raw))
	}
	s.shows("a1 ", false) // a1 is still in the array, but empty
}

// Bug A33: the provider joins successive answers into one, which may have thinking only at its start. An empty answer
// is not sent. So if the first of the answers is empty, the joined answer starts with the second one, and this answer's
// thinking may stay. The host still believed that the joined answer starts with the empty one.
func TestBugA33ReasoningAfterAnEmptyAnswerIsFirst(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.happen("user u1: q\nassistant a0: z | call read k0 {\"f\":0} -> \"A\"\nassistant a1: call read k1 {\"f\":1} -> \"A\"\n" +
		"assistant a2: think signed \"why\" | two | call read k2 {\"f\":2} -> \"B\"\nassistant t1..t20 (10%): call bash c# {\"n\":#} -> \"o#\"\nuser u2: n")
	s.happen("drop 4\nflush") // a1 is removed; the result of k0 still separates a0 and a2
	s.shows("a1 ", false)
	s.shows("why", true)
	s.happen("drop 3\nflush") // now no result separates them
	s.shows("why", false)
	s.steady("restart")
}

// Bug A43: a subagent does all its work in one turn. The host allowed only one bust per turn, so the subagent's window
// became full.
func TestBugA43SubagentBustsAsOftenAsItNeeds(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.w.readings.Subagent = true
	s.happen("user u1: go\nassistant a1 (tool-calls, 10%): call read c1 {} -> \"A\"")
	for i := 2; i < 6; i++ {
		s.happen(fmt.Sprintf("drop %d\nassistant a%d (tool-calls, 7%d%%): call read c%d {\"n\":%d} -> \"A\"", i, i, i, i, i))
		if s.w.decision.Verdict != schema.Soft || s.w.session.State.ByTag(i).Active() {
			t.Errorf("step %d: %s (%s)", i, s.w.decision.Verdict, s.w.decision.Cause)
		}
	}
}

// Bug B1: the host dropped the results between two answers. The provider then joined the answers into one message with
// thinking in its middle, and refused this message. If the harness itself sends two successive answers, the host leaves
// them as they are.
func TestBugB1ThinkingStandsFirst(t *testing.T) {
	const told = "user u1: q\nassistant a1: think signed \"r1\" | think signed \"r1b\" | x | call read c1 {\"f\":1} -> \"A\"\n" +
		"assistant a2: think signed \"r2\" | y | call read c2 {\"f\":2} -> \"B\"\n" +
		"assistant a3: think signed \"r3\" | z\nuser u2: n\nassistant a4: x\nassistant a5: think signed \"r5\" | y\nuser u3: m\n" +
		"assistant t1..t20 (10%): call bash d# {\"n\":#} -> \"o#\"\nuser u4: end"
	for _, profile := range render.Profiles {
		s := begin(t, profile.Name, 1)
		s.happen(told)
		for _, reasoning := range []string{"r1", "r1b", "r2", "r3", "r5"} {
			s.shows(fmt.Sprintf("reasoning %q", reasoning), true)
		}
		s.happen("drop 3\nflush") // c1; its text x stays before a2
		s.shows(`reasoning "r2"`, !profile.FusesAssistants)
		s.shows(`reasoning "r3"`, true)
		s.shows(`reasoning "r5"`, true)
		s.steady("restart")
	}
}

// Bug B2: the host removed all text of a user message between two answers, so the provider joined the answers.
func TestBugB2UserMessageIsNeverEmptied(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.happen("user u1: <system-reminder>only</system-reminder>\nassistant a1: think signed \"r1\" | x\nuser u2: <!-- OMO_INTERNAL_INITIATOR -->\n" +
		"assistant a2 (10%): think signed \"r2\" | y\nuser u3: n\nassistant a3 (10%): z\nuser u4: m")
	s.happen("drop 3 5\nflush")
	for tag, key := range map[int]string{1: "u1", 3: "u2", 5: "u3"} {
		s.shows(fmt.Sprintf("%s user: text \"[dropped §%d§]\"\n", key, tag), true)
	}
	s.steady("")
}

// Bug B3: the host treated all providers like Anthropic. Some refused requests without reasoning, or with empty texts.
func TestBugB3OtherProvidersKeepTheirReasoning(t *testing.T) {
	for _, p := range render.Profiles {
		s := begin(t, p.Name, 1)
		s.w.readings.Knobs.ReasoningAge = 1
		s.happen("user u0: q\nassistant a0: think signed \"r0\" | <think>z</think> w\nuser u1: q\nassistant a1: think \"r1\" | <think>z</think> x | call read c1 {} -> \"A\"\nassistant a2: think \"r2\" | y\nassistant a3 (10%): think \"r3\" | z\nuser u2: n\nassistant a4 (10%): v\nuser u3: m")
		s.happen("flush\ndrop 6")
		s.shows("<think>", false) // no provider needs thinking inside a text
		s.shows(`reasoning "r0"`, true)
		for _, reasoning := range []string{"r1", "r2", "r3"} {
			s.shows(fmt.Sprintf("reasoning %q", reasoning), !p.ForgetsReasoning)
		}
		if !p.ForgetsReasoning {
			continue
		}
		if want := "a2 assistant: text \"[dropped]\"\n"; p.DropsEmptyText == strings.Contains(s.w.text(), want) {
			t.Errorf("%s:\n%s", p.Name, s.w.text())
		}
	}
}

// Bug B4: the host left an empty text between a call and its result. Some providers refuse any empty text.
func TestBugB4NothingEmptyIsSent(t *testing.T) {
	for _, p := range render.Profiles {
		s := begin(t, p.Name, 1)
		s.w.readings.Knobs.ReasoningAge = 1
		s.happen("user u1: q\nassistant a1: think \"r\" | x | call read c1 {} -> \"A\" | y | call ctx_reduce c2 {} -> \"ok\" | z\n" +
			"assistant t1..t20: hm | call bash d# {\"n\":#} -> \"o#\"\nassistant a2 (10%): <system-reminder>x</system-reminder>\nuser u2: n")
		s.happen("drop 2 3 4 6 7 8 9\nflush")
		for _, m := range s.w.wire {
			for i, b := range m.Blocks {
				if b.Kind == render.TextBlock && strings.TrimSpace(b.Text) == "" {
					t.Errorf("%s: %s holds an empty text", p.Name, m.Key)
				}
				if b.Kind == render.CallBlock && (i+1 == len(m.Blocks) || m.Blocks[i+1].Kind != render.ResultBlock || m.Blocks[i+1].ID != b.ID) {
					t.Errorf("%s: the result of %s does not follow", p.Name, b.ID)
				}
			}
		}
		s.shows("-> \"[dropped §3§]\"", p.StepsLeaveWhole)
	}
}

// Bug B5: a clamp cut between the bytes of one character, so the arguments were invalid JSON.
func TestBugB5ClampedInputIsWholeText(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.happen("user u1: q\nassistant a1 (10%): call write c1 {\"a\":\"abcd😀 and more\",\"b\":\"日本語テスト\",\"c\":\"{600 x}\"} -> \"ok\"\nuser u2: n")
	s.happen("drop 2\nflush")
	s.shows(`{"a":"abcd...[truncated]","b":"日本語テス...[truncated]","c":"xxxxx...[truncated]"} -> "[dropped §2§]"`, true)
}

// Bug B7: an answer had nothing left but placeholders and an image. The host did not count the image as content, so it
// removed the whole answer.
func TestBugB7FileIsContent(t *testing.T) {
	for _, p := range render.Profiles {
		s := begin(t, p.Name, 1)
		s.happen("user u1: q\nassistant a1 (10%): drawn | file image\nuser u2: n")
		s.happen("drop 2\nflush")
		s.shows(`a1 assistant: text "[dropped §2§]" file "data:image/png;base64,AAAA"`, true)
	}
}

// Bug B8: the host mistook reasoning without text for removed reasoning, and removed its signed data.
func TestBugB8SignedDataWithoutTextStays(t *testing.T) {
	for name, metadata := range map[string]any{
		"redacted": obj{"anthropic": obj{"redactedData": "xyz"}}, "encrypted": obj{"openai": obj{"reasoningEncryptedContent": "xyz"}}, "unknown": "what is this",
	} {
		for _, p := range render.Profiles {
			if !p.ChecksSignatures {
				continue
			}
			s := begin(t, p.Name, 1)
			s.w.readings.Knobs.ReasoningAge = 1
			s.w.add(message("u1", "user", s.w.now, nil, textPart("p1", "q")))
			s.w.add(message("a1", "assistant", s.w.now, nil, obj{"id": "r", "type": "reasoning", "text": "", "metadata": metadata}, textPart("p2", "x")))
			s.happen("user u2: n\nassistant a2 (10%): y\nuser u3: m")
			s.happen("drop 2\nflush")
			s.shows(`a1 assistant: reasoning "" text "[dropped §2§]"`, true)
			for _, m := range s.w.wire {
				if m.Key == "a1" && m.Blocks[0].Signature == nil {
					t.Errorf("%s, %s: the signature is gone", p.Name, name)
				}
			}
		}
	}
}

// Bug B9: models imitate tags such as "§1§" at the start of their texts. The host stripped only some of them, so the
// texts began with more and more tags. Bug D2: a text can also begin with "§5.1", which only looks like a tag. The host
// stripped this beginning, too.
func TestBugB9ImitatedTagsComeOffWhole(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.happen("user u1: §1§ §1§ q\nassistant a1: §1§ §2§ said\nassistant a2 (10%): §15298\">§ §15298§ hello | call read c1 {} -> \"§3§ §4§ A\"\nuser u2: §5.1 says so\nassistant a3: §823 BGB")
	const want = "u1 user: text \"§1§ §1§ §1§ q\"\na1 assistant: text \"§2§ said\"\na2 assistant: text \"§3§ §15298\\\">§ §15298§ hello\" call read {} -> \"§4§ §3§ §4§ A\"\nu2 user: text \"§5§ §5.1 says so\"\na3 assistant: text \"§6§ §823 BGB\"\n"
	for _, next := range []string{"", "restart", "flush"} {
		if got := s.w.text(); got != want {
			t.Errorf("before %q:\n%s\nwant:\n%s", next, got, want)
		}
		s.happen(next)
	}
}

// Bug B10: a provider may use a call id again. So when an old call was dropped, a new call with the same id
// disappeared, too.
func TestBugB10DropOfAnOldCallSparesTheNewOne(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.happen("user u1: q\nassistant a1 (10%): call read r1 {\"f\":1} -> \"one\"\nuser u2: n")
	s.happen("drop 2\nflush")
	s.steady("assistant a2 (10%): call read r1 {\"f\":2} -> \"two\"\nuser u3: m")
	s.shows(`a2 assistant: call read {"f":2} -> "§4§ two"`, true)
	s.w.session.Forget([]string{"a1"})
	if u := s.w.session.State.ByTag(4); u == nil || s.w.session.State.ByTag(2) != nil {
		t.Error("forgetting the old call's message did not take that call alone")
	}
}

// Bug B11: providers reuse call ids, and the host assigned a result to a call of another turn. In Pi, where results are
// separate messages, even two steps in one array may use the same id.
func TestBugB11EachStepKeepsItsOwnResult(t *testing.T) {
	bothCodecs(t, func(t *testing.T, codec transcript.Codec) {
		s := begin(t, "anthropic", 1)
		s.w = newWorldOf(t, codec, true, 1)
		s.happen("user u1: q\nassistant a1 (10%): call read r1 {\"f\":1} -> \"one\"\nuser u2: n")
		s.steady("assistant a2 (10%): call read r1 {\"f\":2} -> \"two\"\nuser u3: m")
		for _, next := range []string{"", "restart"} {
			s.happen(next)
			s.shows(`read {"f":1} -> "§2§ one"`, true)
			s.shows(`read {"f":2} -> "§4§ two"`, true)
		}
		s.happen("drop 2\nflush")
		s.shows("one", false)
		s.shows(`read {"f":2} -> "§4§ two"`, true)
	})
}

// Bug B15: the host counted the arguments of a call twice, once as arguments and once in the size of the result.
func TestBugB15ArgumentsAreCountedOnce(t *testing.T) {
	s := begin(t, "anthropic", 1)
	s.happen("user u1: q\nassistant a1: call read c1 {\"f\":\"{92 a}\"} -> \"{40 b}\"")
	u := s.w.session.State.ByTag(2)
	if u.Bytes != 40 || u.InputBytes != 100 || u.Tokens != 10 || u.InputTokens != 25 || u.Left() != 35 {
		t.Errorf("%+v, %d left", u, u.Left())
	}
}

func TestBustWithNothingToDoIsSteady(t *testing.T) {
	w := newWorld(t, true, 1)
	w.add(message("u1", "user", w.now, nil, textPart("p1", "q")), message("a1", "assistant", w.now, nil, textPart("p2", "x")),
		message("u2", "user", w.now, nil, textPart("p3", "q")))
	w.pass()
	w.usage(99)
	w.pass()
	if w.decision.Verdict != schema.Steady || w.decision.Cause != CauseNothingToDo || w.result.Bust {
		t.Errorf("%s (%s), bust %v", w.decision.Verdict, w.decision.Cause, w.result.Bust)
	}
}

// Fixed bug: the newest units are protected from drops. After a revert, the host counted the reverted units among the
// newest, although they were no longer in the array. So the real newest units were not protected, and the pass dropped
// a result that the model had not read yet.
func TestUnreadResultsStayAfterARevert(t *testing.T) {
	w := newWorld(t, true, 1)
	w.add(message("u1", "user", w.now, nil, textPart("p1", "q")),
		message("a1", "assistant", w.now, nil, reasoningPart("p2", "why", true)))
	for i := range 8 {
		w.add(message(fmt.Sprintf("r%d", i), "user", w.now, nil, textPart(fmt.Sprintf("pr%d", i), "again")))
	}
	w.pass()
	w.raw, w.held = w.raw[:2], 2 // the user reverts to a1, and then the model reads the same file twice in one step
	w.add(message("a2", "assistant", w.now, obj{"finish": "tool-calls"},
		toolPart("p3", "c1", "read", obj{"filePath": "/a"}, "one"), toolPart("p4", "c2", "read", obj{"filePath": "/a"}, "two")))
	w.readings.Flush = true
	w.pass()
	if got := w.text(); !strings.Contains(got, "one") || !strings.Contains(got, "two") {
		t.Errorf("wire:\n%s", got)
	}
}
