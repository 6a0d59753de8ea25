package history

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// The tests of this file are named after the bug classes H of docs/defects.md.

// Bug H4: the budgets were computed from the size of the last prompt, which is unknown after a restart. The budgets
// became tiny, so the history was archived.
func TestBugH4BudgetsDoNotDependOnUsage(t *testing.T) {
	for _, usage := range []float64{0, 50, 95} {
		v := Trigger(TriggerFacts{Situation: at(session(strings.Repeat("ua", 20), 4000), usage), Count: tokens.Count})
		if v.Snapshot.Limit != 128_000 || v.Snapshot.Cap < 24_960 {
			t.Errorf("at %v %%: limit %d, cap %d", usage, v.Snapshot.Limit, v.Snapshot.Cap)
		}
	}
}

// Bug H7: the protected tail contained a call without a result. Its start then moved forward to this call, so the
// messages before the call were no longer protected.
func TestBugH7OpenCallNeverShrinksTheTail(t *testing.T) {
	for open := 1; open <= 10; open++ {
		without := at(calls(session("uauauauaua", 4000), 0), 50).Snapshot(Request{})
		with := at(calls(session("uauauauaua", 4000), open), 50).Snapshot(Request{})
		if with.TailStart > without.TailStart {
			t.Errorf("open call in %d: the tail begins at %d, without it at %d", open, with.TailStart, without.TailStart)
		}
	}
}

// Bug H8: one old call never got a result. The historian then read no message after this call.
func TestBugH8DeadCallBlocksNothing(t *testing.T) {
	for _, mode := range []Mode{Incremental, WrapUp} {
		m := calls(session(strings.Repeat("ua", 20), 4000), 2)
		s := at(m, 50).Snapshot(Request{Mode: mode})
		if s.TailStart <= 2 || s.End <= 3 {
			t.Errorf("mode %d: eligible [%d, %d), tail from %d", mode, s.Start, s.End, s.TailStart)
		}
	}
}

// Bug H9: the trigger and the run each had their own way to compute the first message without a compartment. Before the
// first compartment, their results differed, so a session's first run was always rejected.
func TestBugH9FirstCompartmentIsPossible(t *testing.T) {
	now := at(session(strings.Repeat("ua", 10), 4000), 50)
	for _, none := range []int{0, -1} {
		now.Covered = none
		s := now.Snapshot(Request{})
		if s.Start != 1 || !s.IsRunnable() {
			t.Errorf("covered %d: %+v", none, s)
		}
	}
}

// Bug H13: the host compared the number of messages in the array with ordinals. If old messages were missing from the
// array, the host always assumed that more messages follow.
func TestBugH13ArrayAfterACompartmentEnds(t *testing.T) {
	var list []Message
	for n := 101; n <= 110; n++ {
		list = append(list, Message{Ordinal: n, Key: fmt.Sprint("m", n), Role: transcript.User, Texts: []string{"go"}})
	}
	c := ReadChunk(NewMessages(list, 110), 101, 111, 8000, tokens.Count)
	if c.HasMore || c.Range != (chronicle.Range{Start: 101, End: 110}) {
		t.Errorf("chunk %s, has more: %v", c.Range, c.HasMore)
	}
}

// Bug H14: tables that are indexed by ordinal had one row for each readable message. So if one message was unreadable,
// there was no row for the last message, and it was lost.
func TestBugH14UnreadableMessageHidesNoOther(t *testing.T) {
	m := session("uauaua", 100)
	m = NewMessages(append(m.list[:2:2], m.list[3:]...), 6) // the third is unreadable
	if got := m.Tokens(1, 7); got != 500 {
		t.Errorf("%d tokens, want 500", got)
	}
	if got := m.suffixStart(100); got != 6 {
		t.Errorf("the newest 100 tokens begin at %d, want 6", got)
	}
	c := ReadChunk(m, 1, 7, 8000, tokens.Count)
	if c.Range != (chronicle.Range{Start: 1, End: 6}) || !strings.Contains(c.Text(), "text 6") || len(c.Lines) != 6 || c.Lines[2].Key != "" || c.CheckCoverage() != nil {
		t.Errorf("chunk %s:\n%s\n%v %v", c.Range, c.Text(), c.Lines, c.CheckCoverage())
	}
}

// Bug H28: the protected tail was a fixed number of turns. A session with one long turn was never summarised.
func TestBugH28SessionWithOnePromptStaysSummarisable(t *testing.T) {
	s := at(session("u"+strings.Repeat("a", 40), 3000), 82)
	for covered := 0; covered < 30; {
		s.Covered = covered
		got := s.Snapshot(Request{})
		if !got.IsRunnable() {
			t.Fatalf("nothing eligible after message %d: %+v", covered, got)
		}
		covered = got.End - 1
	}
}

// Bug H29: the trigger used the size of the raw messages. A few large files were enough for a run, so the history
// consisted of many tiny compartments.
func TestBugH29ReadFilesDoNotFire(t *testing.T) {
	m := calls(session(strings.Repeat("ua", 10), 10, 9000), 0)
	for i := range m.list {
		if m.list[i].Role == transcript.User {
			m.list[i].Texts = []string{"next file"}
		}
	}
	v := Trigger(TriggerFacts{Situation: at(m, 25), Count: tokens.Count})
	if v.Runs || v.Snapshot.Tokens < 20_000 {
		t.Errorf("%s with %d tokens of files, chunk of %d tokens", v.Reason, v.Snapshot.Tokens, v.ChunkTokens)
	}
}

// Bug H30: the trigger did not count dropped units. When most output was dropped, no run began, although nothing was
// summarised.
func TestBugH30DroppedContentCounts(t *testing.T) {
	if IsSmall(80_000, 128_000, 65, 10) {
		t.Error("80,000 tokens without compartment are small")
	}
	list := session(strings.Repeat("ua", 20), 4000).list
	for i := range list {
		list[i].Texts = []string{strings.Repeat("word ", 3000)}
	}
	if v := Trigger(TriggerFacts{Situation: at(NewMessages(list, 0), 10), Count: tokens.Count}); v.Reason != RunForSize {
		t.Errorf("%s, chunk of %d tokens", v.Reason, v.ChunkTokens)
	}
}

// Bug H41: if the last eligible message had no text, the host assumed that the messages did not fit into the chunk. So
// the trigger began a run for 583 tokens at a usage of 10 %.
func TestBugH41NoiseAtTheEndDoesNotFire(t *testing.T) {
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	for _, third := range []string{"", "a short text"} {
		list := session("uaauaa", 6, 560, 11, 6, 18_000, 18_000).list
		list[1].Texts[0], list[4].Texts[0], list[5].Texts[0] = words(280), words(9000), words(9000)
		if list[2].Texts = nil; third != "" {
			list[2].Texts = []string{third}
		}
		v := Trigger(TriggerFacts{Situation: at(NewMessages(list, 0), 10), Count: tokens.Count})
		if v.Runs || v.Reason != NoRunNoPressure || v.Snapshot.End != 4 || v.ChunkTokens == 0 {
			t.Errorf("third message %q: %s, eligible up to %d", third, v.Reason, v.Snapshot.End)
		}
		c := ReadChunk(NewMessages(list, 0), 1, 4, 15_000, tokens.Count)
		if c.HasMore || c.End != 3 || c.CheckCoverage() != nil {
			t.Errorf("third message %q: chunk %s, has more: %v", third, c.Range, c.HasMore)
		}
	}
}
