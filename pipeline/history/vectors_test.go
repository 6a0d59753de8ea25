package history

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// The expected numbers come from an independent implementation of the same rules, which comments call the reference.
// Where this package differs from the reference, a comment says why.

// The function `session` returns messages with these roles and sizes. Each letter of `roles` is one message: u is the
// user, and a is the assistant.
func session(roles string, sizes ...int) *Messages {
	list := make([]Message, len(roles))
	for i, r := range roles {
		role := transcript.Assistant
		if r == 'u' {
			role = transcript.User
		}
		n := i + 1
		size := sizes[min(i, len(sizes)-1)]
		list[i] = Message{Ordinal: n, Key: fmt.Sprint("m", n), Role: role, Texts: []string{fmt.Sprint("text ", n)}, Tokens: size, Reads: size}
	}
	return NewMessages(list, len(list))
}

// The function `at` returns a situation in a window of 128,000 tokens with an execute threshold of 65 %.
func at(m *Messages, usage float64) Situation {
	return Situation{Messages: m, Limit: 128_000, Threshold: 65, Usage: usage}
}

func TestTriggerBudget(t *testing.T) {
	for _, c := range []struct {
		limit     int
		threshold float64
		want      int
	}{
		{128_000, 65, 5000},
		{200_000, 65, 6500},
		{1_000_000, 40, 20_000},
		{1_000_000, 65, 32_500},
		{2_000_000, 80, 50_000},
		{0, 65, 5000},
		{-1, 65, 5000},
	} {
		if got := TriggerBudget(c.limit, c.threshold); got != c.want {
			t.Errorf("TriggerBudget(%d, %v) = %d, want %d", c.limit, c.threshold, got, c.want)
		}
	}
}

func TestChunkBudget(t *testing.T) {
	for limit, want := range map[int]int{0: 8000, 16_000: 8000, 32_000: 8000, 100_000: 25_000, 128_000: 32_000, 200_000: 50_000, 1_000_000: 50_000} {
		if got := ChunkBudget(limit); got != want {
			t.Errorf("ChunkBudget(%d) = %d, want %d", limit, got, want)
		}
	}
}

func TestHistorianLimit(t *testing.T) {
	for _, c := range []struct {
		limits []int
		want   int
	}{
		{nil, 128_000},
		{[]int{0, 0}, 128_000},
		{[]int{200_000}, 200_000},
		{[]int{200_000, 0, 64_000, 1_000_000}, 64_000},
	} {
		if got := HistorianLimit(c.limits...); got != c.want {
			t.Errorf("HistorianLimit(%v) = %d, want %d", c.limits, got, c.want)
		}
	}
}

func TestTailTarget(t *testing.T) {
	for _, c := range []struct {
		limit            int
		threshold, usage float64
		want             int
	}{
		{128_000, 65, 0, 24_960},
		{128_000, 65, 50, 12_480},
		{128_000, 65, 65, 8736},
		{128_000, 65, 79, 6656},
		{128_000, 65, 95, 6656},
		{128_000, 65, -20, 24_960},
		{128_000, 65, 400, 6656},
		{200_000, 65, 40, 23_400},
		{1_000_000, 40, 10, 96_000},
		{32_000, 65, 90, 2000},
		{8000, 65, 10, 2000},
		{0, 65, 0, 24_960},
		{128_000, 0, 0, 24_960},
	} {
		if got := tailTarget(c.limit, c.threshold, c.usage); got != c.want {
			t.Errorf("tailTarget(%d, %v, %v) = %d, want %d", c.limit, c.threshold, c.usage, got, c.want)
		}
	}
}

func TestRunCap(t *testing.T) {
	for _, c := range []struct{ room, tail, calm, forced, emergency int }{
		{83_200, 12_480, 24_960, 37_440, 49_920},
		{400_000, 96_000, 192_000, 288_000, 384_000},
		{20_800, 2000, 5200, 7280, 10_400},
	} {
		got := []int{runCap(c.room, c.tail, 50), runCap(c.room, c.tail, 80), runCap(c.room, c.tail, 95)}
		if diff := cmp.Diff([]int{c.calm, c.forced, c.emergency}, got); diff != "" {
			t.Errorf("room %d, tail %d: %s", c.room, c.tail, diff)
		}
	}
}

func TestSizesByOrdinal(t *testing.T) {
	m := session("uaua", 10, 20, 30, 40)
	for size, want := range map[int]int{40: 4, 41: 3, 70: 3, 100: 1, 101: 1, 0: 5} {
		if got := m.suffixStart(size); got != want {
			t.Errorf("suffixStart(%d) = %d, want %d", size, got, want)
		}
	}
	for _, c := range []struct{ start, end, tokens, want int }{{1, 5, 30, 3}, {1, 5, 5, 2}, {2, 5, 50, 4}, {2, 2, 50, 2}, {1, 5, 0, 1}, {1, 5, 1000, 5}} {
		if got := m.prefixEnd(c.start, c.end, c.tokens); got != c.want {
			t.Errorf("prefixEnd(%d, %d, %d) = %d, want %d", c.start, c.end, c.tokens, got, c.want)
		}
	}
}

func TestProtectedTail(t *testing.T) {
	for _, c := range []struct {
		name          string
		roles         string
		sizes         []int
		usage, scale  float64
		start, end    int
		isNotRunnable bool
		reason        TailReason
	}{
		{name: "alternating", roles: "uauauaua", sizes: []int{4000}, usage: 50, start: 5, end: 5, reason: SizeWalk},
		{name: "under pressure", roles: "uauauaua", sizes: []int{4000}, usage: 85, start: 7, end: 7},
		{name: "in an emergency, scaled", roles: "uauauaua", sizes: []int{4000}, usage: 96, scale: 0.25, start: 8, end: 8},
		{name: "one prompt", roles: "uaaaaaaa", sizes: []int{100, 10_000}, usage: 50, start: 1, end: 1, isNotRunnable: true, reason: TailAtLivePrompt},
		{name: "one prompt under pressure", roles: "uaaaaaaa", sizes: []int{100, 10_000}, usage: 80, start: 8, end: 4},
		{name: "huge message", roles: "uauau", sizes: []int{1000, 1000, 1000, 90_000, 500}, usage: 50, start: 5, end: 4, reason: HugeMessage},
		{name: "small rest", roles: "uauaua", sizes: []int{100, 100, 5000, 5000, 5000, 100}, usage: 40, start: 1, end: 1, isNotRunnable: true, reason: SmallRest},
		{name: "cap", roles: "uaauau", sizes: []int{100, 60_000, 100, 20_000, 4000, 500}, usage: 50, start: 4, end: 2},
		{name: "many messages", roles: strings.Repeat("ua", 20), sizes: []int{4000}, usage: 50, start: 37, end: 7},
		{name: "three short messages", roles: "uau", sizes: []int{10}, usage: 96, start: 1, end: 1, isNotRunnable: true, reason: WholeSession},
		{name: "empty", usage: 50, start: 1, end: 1, isNotRunnable: true, reason: EmptySession},
	} {
		m := session(c.roles, c.sizes...)
		s := at(m, c.usage).Snapshot(Request{Scale: c.scale})
		if s.TailStart != c.start || s.End != c.end || s.IsRunnable() == c.isNotRunnable {
			t.Errorf("%s: start %d, end %d, runnable %v; want %d, %d, %v (%s)", c.name, s.TailStart, s.End, s.IsRunnable(), c.start, c.end, !c.isNotRunnable, s.Reason)
		}
		if c.reason != "" && s.Reason != c.reason {
			t.Errorf("%s: reason %q, want %q", c.name, s.Reason, c.reason)
		}
	}
	if s := at(session("uauauaua", 4000), 96).Snapshot(Request{Scale: 0.25}); s.Target != 1664 {
		t.Errorf("scaled target %d, want 1664", s.Target)
	}
	small := at(session("uauau", 500, 500, 500, 14_000, 100), 50)
	small.Limit = 32_000
	if s := small.Snapshot(Request{}); s.TailStart != 5 || s.Reason != HugeMessage {
		t.Errorf("a message of 14,000 tokens in a window of 32,000: start %d, %s", s.TailStart, s.Reason)
	}
	s := at(session("uauauaua", 4000), 50)
	s.Covered = 2
	if got := s.Snapshot(Request{}); got.Start != 3 || got.TailStart != 5 || got.End != 5 {
		t.Errorf("after a compartment: %+v", got)
	}
}

// The function `calls` replaces the texts of the assistant's messages with calls. `waiting` is the ordinal of a message
// whose call gets no result.
func calls(m *Messages, waiting int) *Messages {
	for i := range m.list {
		if msg := &m.list[i]; msg.Role == transcript.Assistant || msg.Ordinal == waiting {
			msg.Texts, msg.Calls = nil, []Call{{ID: fmt.Sprint("c", i), Tool: "read", Asks: true, Answers: msg.Ordinal != waiting}}
		}
	}
	return m
}

func TestProtectedTailAndOpenCalls(t *testing.T) {
	for _, c := range []struct {
		open, start, end int
	}{
		{2, 7, 7}, // the call is too old to move the start of the tail
		// The reference moves the start of the tail forward to the open call. This package never does (class H7).
		{8, 7, 7},
		{10, 7, 7},
	} {
		s := at(calls(session("uauauauaua", 4000), c.open), 50).Snapshot(Request{})
		if s.TailStart != c.start || s.End != c.end {
			t.Errorf("open call in %d: start %d, end %d; want %d, %d (%s)", c.open, s.TailStart, s.End, c.start, c.end, s.Reason)
		}
	}
}

// If an answer ends with a call that the provider itself runs, the next answer continues it. A bug let the head end
// between these two answers. The prompt then ended with an answer without its thinking, which Anthropic refuses.
func TestAnswerStaysWithItsContinuation(t *testing.T) {
	for _, isContinued := range []bool{false, true} {
		m := calls(session("uauauauaua", 4000), 0)
		m.list[5].Calls, m.list[5].IsContinued = nil, isContinued
		s := at(m, 50).Snapshot(Request{})
		if separated := s.TailStart == 7 || s.End == 7; separated == isContinued {
			t.Errorf("continued %t: the tail begins at %d, and the run ends at %d", isContinued, s.TailStart, s.End)
		}
	}
	var codec transcript.OpenCode2
	for finish, want := range map[string]bool{"tool-calls": true, "stop": false} {
		m := codec.Decode(json.Value(`{"id":"a","info":{"type":"assistant","finish":"` + finish + `"},"message":{"id":"a","role":"assistant","content":[
			{"type":"tool-call","id":"c","name":"web_search","input":{},"providerExecuted":true}]}}`))
		if got := MessageOf(&m, 1, 1); got.IsContinued != want {
			t.Errorf("%s: continued %t", finish, got.IsContinued)
		}
	}
}

func TestCommits(t *testing.T) {
	got := commitsIn("commit 1234567 and ABCDEF1 and 123456 and 20240101 facade decade1", nil)
	if diff := cmp.Diff([]string{"1234567", "abcdef1", "123456", "20240101", "facade"}, got); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct{ text, clean, hashes string }{
		{"Committed abc1234 (abc1234), done", "Committed, done", "[abc1234]"},
		{"Value abc1234 here", "Value abc1234 here", "[abc1234]"},
		{"Committed as `abc1234` (fix) and def56789.", "Committed as (fix) and.", "[abc1234 def56789]"},
		{"Done, hash deadbee pushed", "Done, hash pushed", "[deadbee]"},
		{"a commit without one", "a commit without one", "[]"},
		// A sixth hash is not listed, so it stays in the text.
		{"sha 111111 222222 333333 444444 555555 666666", "sha 666666", "[111111 222222 333333 444444 555555]"},
	} {
		hashes := commitsIn(c.text, nil)
		if clean := withoutCommits(c.text, hashes); clean != c.clean || fmt.Sprint(hashes) != c.hashes {
			t.Errorf("%q: %q %v, want %q %s", c.text, clean, hashes, c.clean, c.hashes)
		}
	}
}

// The function `conversation` builds messages as the host would: OpenCode's codec reads them, and the host numbers
// them.
func conversation(t *testing.T, raws ...string) *Messages {
	t.Helper()
	var list []Message
	for i, raw := range raws {
		role, parts, _ := strings.Cut(raw, " ")
		m := transcript.OpenCode{}.Decode(json.Value(fmt.Sprintf(`{"info":{"id":"m%d","role":%q},"parts":[%s]}`, i+1, role, parts)))
		list = append(list, MessageOf(&m, i+1, 100))
	}
	return NewMessages(list, len(list))
}

func says(text string) string {
	return `{"type":"text","text":` + string(json.Quote(text)) + `}`
}

func uses(tool, input string) string {
	return fmt.Sprintf(`{"type":"tool","callID":"c","tool":%q,"state":{"status":"completed","input":%s,"output":"out"}}`, tool, input)
}

func TestChunk(t *testing.T) {
	m := conversation(
		t,
		"user "+says("Fix   the\nlogin bug"),
		"assistant "+says("Looking.")+","+uses("read", `{"filePath":"a.go"}`),
		"assistant "+uses("bash", `{"command":"ls","description":"List files"}`),
		"user "+says("<system-reminder>be quick</system-reminder>"),
		"assistant "+says("Committed as `abc1234` (fix) and def56789."),
		"user "+says("[SYSTEM DIRECTIVE: MAGIC-CONTEXT] do this"),
		"user "+says("ok next"),
		"assistant "+uses("grep", `{"pattern":"`+strings.Repeat("p", 70)+`"}`)+","+uses("ctx_note", `{"action":"write"}`)+","+uses("foo", `{}`),
		`assistant {"type":"reasoning","text":"hm"}`,
		"user "+says("bye"),
		"assistant "+says("Done, hash deadbee pushed"),
	)
	// The reference leaves out the messages 4 and 6. This package shows them, because the user may have typed them.
	want := "[1] U: Fix the login bug\n" +
		"[2-3] A: Looking. / TC: List files\n" +
		"[4] H: <system-reminder>be quick</system-reminder>\n" +
		"[5] A: commits: abc1234, def56789 Committed as (fix) and.\n" +
		"[6] H: [SYSTEM DIRECTIVE: MAGIC-CONTEXT] do this\n" +
		"[7] U: ok next\n" +
		"[8] A: TC: grep(" + strings.Repeat("p", 60) + "…) / TC: ctx_note(write) / TC: foo\n" +
		"[9-10] U: bye\n" +
		"[11] A: commits: deadbee Done, hash pushed"
	c := ReadChunk(m, 1, 12, 8000, tokens.Count)
	if diff := cmp.Diff(want, c.Text()); diff != "" {
		t.Error(diff)
	}
	if c.Range != (chronicle.Range{Start: 1, End: 11}) || c.Lines[0].Key != "m1" || c.Lines[10].Key != "m11" || c.CommitClusters != 2 || c.HasMore || len(c.Lines) != 11 || c.CheckCoverage() != nil {
		t.Errorf("chunk %+v, coverage %v", c, c.CheckCoverage())
	}
	if diff := cmp.Diff([]chronicle.Range{{Start: 8, End: 8}}, c.ToolOnly); diff != "" {
		t.Errorf("ranges with tools only: %s", diff)
	}

	c = ReadChunk(m, 1, 12, 20, tokens.Count)
	if c.Text() != "[1] U: Fix the login bug" || !c.HasMore || c.Range != (chronicle.Range{Start: 1, End: 1}) || len(c.Lines) != 1 {
		t.Errorf("with a small budget: %+v", c)
	}
}

// The window and the sizes of these sessions come from the reference's examples.
func TestTrigger(t *testing.T) {
	said := func(role transcript.Role, words int) Message {
		text := strings.TrimSpace(strings.Repeat("word ", words))
		return Message{Role: role, Texts: []string{text}, Tokens: tokens.Count(text)}
	}
	talk := func(n, words int) (list []Message) {
		for i := range n {
			list = append(list, said([]transcript.Role{transcript.User, transcript.Assistant}[i%2], words))
		}
		return list
	}
	commits := func(words, later int) (list []Message) {
		for i := range 5 {
			answer := said(transcript.Assistant, words)
			answer.Texts[0] = fmt.Sprintf("Committed abcdef%d. %s", i, answer.Texts[0])
			list = append(list, said(transcript.User, 3), answer)
		}
		return append(list, talk(later, 1500)...)
	}
	alone := append([]Message{said(transcript.User, 5)}, slicesOf(said(transcript.Assistant, 3000), 8)...)
	for _, c := range []struct {
		name     string
		list     []Message
		usage    float64
		clusters int
		waiting  WaitingDrops
		want     TriggerReason
	}{
		{name: "20 messages of 4,000 tokens", list: talk(20, 4000), usage: 64, want: RunForSize},
		{name: "16 messages of 1,000 words", list: talk(16, 1000), usage: 62.9, want: NoRunNoPressure},
		{name: "8 messages of 3,000 words under pressure", list: talk(8, 3000), usage: 80, want: RunForced},
		{name: "one prompt under pressure", list: alone, usage: 80, want: RunForced},
		{name: "three short messages", list: talk(3, 5), usage: 96, want: NoRunAllTail},
		{name: "drops suffice under pressure", list: talk(20, 4000), usage: 80, waiting: WaitingDrops{Active: 100, Going: 50}, want: NoRunDropsSuffice},
		{name: "drops do not suffice", list: talk(20, 4000), usage: 80, waiting: WaitingDrops{Active: 100, Going: 10}, want: RunForced},
		{name: "five commits", list: commits(3500, 10), usage: 64, clusters: 3, want: RunForCommits},
		{name: "five commits, but switched off", list: commits(3500, 10), usage: 64, want: RunForSize},
		{name: "five commits of little work", list: commits(100, 14), usage: 20, clusters: 3, want: NoRunNoPressure},
		{name: "all in the tail, but not in half of it", list: append(talk(2, 3000), talk(1, 500)...), usage: 82, want: RunForced},
		{name: "near the threshold, little eligible", list: append(talk(2, 500), talk(2, 9000)...), usage: 63, want: NoRunLittleToSay},
		{name: "small session", list: talk(4, 10), usage: 20, want: NoRunSmall},
		{name: "no message", usage: 96, want: NoRunNothingNew},
		{name: "near the threshold", list: talk(16, 1000), usage: 63, want: RunForHeadroom},
		{name: "near the threshold, less text than the trigger budget", list: append(talk(16, 200), talk(2, 5000)...), usage: 63, want: NoRunLittleToSay},
		{name: "near the threshold, drops suffice", list: talk(16, 1000), usage: 63, waiting: WaitingDrops{Active: 4, Going: 1}, want: NoRunDropsSuffice},
	} {
		for i := range c.list {
			c.list[i].Ordinal, c.list[i].Key = i+1, fmt.Sprint("m", i+1)
		}
		f := TriggerFacts{Situation: at(NewMessages(c.list, 0), c.usage), MinClusters: c.clusters, Waiting: c.waiting, Count: tokens.Count}
		got := Trigger(f)
		if runs := strings.HasPrefix(string(c.want), "force") || c.want == RunForSize || c.want == RunForCommits || c.want == RunForHeadroom; got.Reason != c.want || got.Runs != runs {
			t.Errorf("%s: %s (runs: %v), want %s; chunk of %d tokens, snapshot %+v", c.name, got.Reason, got.Runs, c.want, got.ChunkTokens, got.Snapshot)
		}
		f.IsRunning = true
		if got := Trigger(f); got.Runs || got.Reason != NoRunBesideAnother {
			t.Errorf("%s, with a run under way: %+v", c.name, got)
		}
	}
}

// A run begins when the messages reach a certain size. In a small window, this size is larger than what one run may
// read (the cap). The run must begin anyway, and read only a part of the messages.
func TestTriggerForSizeInASmallWindow(t *testing.T) {
	text := strings.TrimSpace(strings.Repeat("word ", 300))
	list := slicesOf(Message{Role: transcript.Assistant, Texts: []string{text}, Tokens: 900}, 80)
	for i := range list {
		list[i].Ordinal, list[i].Key = i+1, fmt.Sprint("m", i+1)
	}
	list[0].Role, list[70].Role = transcript.User, transcript.User
	got := Trigger(TriggerFacts{
		Situation: Situation{Messages: NewMessages(list, 0), Limit: 64_000, Threshold: 65, Usage: 50}, Count: tokens.Count,
	})
	if s := got.Snapshot; s.Cap >= 3*TriggerBudget(64_000, 65) {
		t.Fatalf("the cap of %d tokens does not bind", s.Cap)
	}
	if got.Reason != RunForSize {
		t.Errorf("%s; chunk of %d tokens, snapshot %+v", got.Reason, got.ChunkTokens, got.Snapshot)
	}
}

// In a window of 1M tokens, a session has become very expensive by the time it reaches the high mark. So a run must
// begin earlier, as soon as the rent has reached the run's cost.
func TestTriggerForRent(t *testing.T) {
	list := slicesOf(Message{Role: transcript.Assistant, Texts: []string{strings.TrimSpace(strings.Repeat("word ", 300))}, Tokens: 900}, 40)
	for i := range list {
		list[i].Ordinal, list[i].Key = i+1, fmt.Sprint("m", i+1)
	}
	for i := 0; i < 40; i += 4 {
		list[i].Role = transcript.User
	}
	const spent = 5000 // tokens of condensed text
	facts := TriggerFacts{
		Situation: Situation{Messages: NewMessages(list, 0), Limit: 1_000_000, WorkingSet: 16_000, Threshold: 65, Usage: 4}, Count: tokens.Count,
	}
	if got := Trigger(facts); got.Runs {
		t.Errorf("a run begins for nothing: %s", got.Reason)
	}
	facts.Pays = func(tokens int) bool { return tokens <= spent }
	if got := Trigger(facts); got.Reason != NoRunNoPressure || got.ChunkTokens <= spent {
		t.Errorf("%s although a run for %d tokens is not paid for", got.Reason, got.ChunkTokens)
	}
	facts.Pays = func(tokens int) bool { return tokens <= 10*spent }
	got := Trigger(facts)
	if got.Reason != RunForRent {
		t.Fatal(got.Reason)
	}
	if tail := facts.Messages.Tokens(got.Snapshot.TailStart, 41); tail < 16_000 || tail > 16_000+4*900 { // the tail begins with a prompt, so it may be larger than the working set
		t.Errorf("%d tokens stay, want the working set", tail)
	}
}

func TestWorkingSet(t *testing.T) {
	for _, test := range []struct {
		spending schema.Spending
		limit    int
		want     int
	}{
		{schema.SpendingFrugal, 1_000_000, 10_000},
		{schema.SpendingBalanced, 1_000_000, 16_000},
		{schema.SpendingBalanced, 64_000, 12_480}, // 30 % of 65 % of the window
		{schema.SpendingGenerous, 200_000, 39_000},
	} {
		if got := WorkingSet(test.spending, test.limit, 65); got != test.want {
			t.Errorf("%s in %d: %d, want %d", test.spending, test.limit, got, test.want)
		}
	}
}

// Besides a chunk of 3,000 tokens, a run reads 5,000 tokens of instructions, examples and references. Its answer is
// estimated at 500 tokens plus a quarter of the chunk (750 tokens).
func TestRunCost(t *testing.T) {
	if got := RunCost(3000, schema.Price{Fresh: 3, Read: 0.3, Output: 15}); got != 8000*10+1250*50 {
		t.Error(got)
	}
}

func slicesOf(m Message, n int) []Message {
	list := make([]Message, n)
	for i := range list {
		list[i] = m
	}
	return list
}
