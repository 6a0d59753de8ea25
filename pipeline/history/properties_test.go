package history

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

func genMessages(t *rapid.T, longArcs bool) *Messages {
	var list []Message
	n := rapid.IntRange(0, 40).Draw(t, "messages")
	var waiting []string
	for ordinal := 1; ordinal <= n; ordinal++ {
		if rapid.IntRange(0, 14).Draw(t, "missing") == 0 {
			continue
		}
		m := Message{Ordinal: ordinal, Key: fmt.Sprint("m", ordinal), Role: transcript.Assistant}
		sizes := []*rapid.Generator[int]{rapid.IntRange(0, 300), rapid.IntRange(300, 3000), rapid.IntRange(300, 9000), rapid.IntRange(50_000, 120_000)}
		m.Tokens = rapid.OneOf(sizes...).Draw(t, "tokens")
		m.Reads = m.Tokens / rapid.SampledFrom([]int{1, 1, 4, 20}).Draw(t, "results per word")
		if rapid.IntRange(0, 3).Draw(t, "role") == 0 {
			m.Role = transcript.User
		}
		content := rapid.IntRange(0, 7).Draw(t, "content")
		if longArcs && len(waiting) > 0 && rapid.IntRange(0, 2).Draw(t, "answers") == 0 {
			content = 4
		}
		switch content {
		case 0: // noise
		case 1, 2:
			m.Calls = append(m.Calls, Call{ID: fmt.Sprint("c", ordinal), Tool: "read", Asks: true, Answers: true})
		case 3:
			id := fmt.Sprint("c", rapid.IntRange(0, 3).Draw(t, "id"))
			m.Calls, waiting = append(m.Calls, Call{ID: id, Tool: "read", Asks: true}), append(waiting, id)
		case 4:
			if longArcs && len(waiting) > 0 {
				m.Calls = append(m.Calls, Call{ID: rapid.SampledFrom(waiting).Draw(t, "answered"), Answers: true})
			}
		default:
			m.Texts = []string{fmt.Sprintf("word%d %s", ordinal, strings.Repeat("and ", rapid.IntRange(0, 60).Draw(t, "words")))}
		}
		list = append(list, m)
	}
	return NewMessages(list, n)
}

func genSituation(t *rapid.T, longArcs bool) Situation {
	m := genMessages(t, longArcs)
	return Situation{
		Messages: m, Covered: rapid.IntRange(0, m.Total()).Draw(t, "covered"),
		Limit:     rapid.SampledFrom([]int{0, 8000, 32_000, 128_000, 200_000, 1_000_000}).Draw(t, "limit"),
		Threshold: rapid.Float64Range(20, 80).Draw(t, "threshold"), Usage: rapid.Float64Range(0, 120).Draw(t, "usage"),
	}
}

func genRequest(t *rapid.T) Request {
	return Request{
		Mode:      Mode(rapid.IntRange(0, 1).Draw(t, "mode")),
		KeepTurns: rapid.IntRange(0, 4).Draw(t, "keep"), Scale: rapid.SampledFrom([]float64{0, 0.25, 0.5, 1}).Draw(t, "scale"),
	}
}

// Snapshot cuts the session into ranges. No cut may separate a call from its result. If a call in the tail still waits
// for its result, no cut may come after this call.
func TestSnapshotNeverSplitsAnArc(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, r := genSituation(t, true), genRequest(t)
		got := s.Snapshot(r)
		liveFrom := s.Messages.suffixStart(got.Target)
		for _, a := range arcsOf(s.Messages) {
			if a.first < got.Start {
				continue // a compartment has already split the arc
			}
			for _, cut := range []int{got.End, got.TailStart} {
				if a.last != open && a.first < cut && cut <= a.last {
					t.Fatalf("cut %d in arc %v: %+v", cut, a, got)
				}
				if a.last == open && a.first >= liveFrom && a.first < cut {
					t.Fatalf("cut %d after the open call in %d: %+v", cut, a.first, got)
				}
			}
		}
	})
}

// The eligible messages may be larger than the cap only if they are a single message or a single arc.
func TestEligibleMessagesKeepWithinTheCap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, r := genSituation(t, true), genRequest(t)
		got := s.Snapshot(r)
		m := s.Messages
		if m.Total() > 0 && (got.Start > got.End || got.End > got.TailStart || got.TailStart > max(m.Total()+1, got.Start)) {
			t.Fatalf("not in order: %+v", got)
		}
		if want := m.Tokens(got.Start, got.End); got.Tokens != want && m.Total() > 0 {
			t.Fatalf("tokens %d, want %d", got.Tokens, want)
		}
		if want := m.Reads(got.Start, got.End); got.Reads != want && m.Total() > 0 {
			t.Fatalf("reads %d, want %d", got.Reads, want)
		}
		if got.Reads <= got.Cap {
			return
		}
		if !got.Oversize {
			t.Fatalf("reads %d tokens with a cap of %d: %+v", got.Reads, got.Cap, got)
		}
		arcs := spansOf(m, got.Start, m.suffixStart(got.Target))
		for cut := got.Start + 1; cut < got.End; cut++ {
			if _, splits := arcs.around(cut); !splits {
				t.Fatalf("could end at %d: %+v", cut, got)
			}
		}
	})
}

func TestLivePromptStaysBelowEightyPercent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSituation(t, true)
		s.Usage = rapid.Float64Range(0, 79.99).Draw(t, "calm")
		got := s.Snapshot(Request{})
		if live := s.Messages.newestPrompt(1); live >= got.Start && got.TailStart > live {
			t.Fatalf("the tail begins at %d, the newest prompt is %d", got.TailStart, live)
		}
	})
}

func TestTailStartIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSituation(t, true)
		small := rapid.Float64Range(0.01, 0.98).Draw(t, "small")
		large := rapid.Float64Range(small, 0.99).Draw(t, "large")
		a, b := s.Snapshot(Request{Scale: small}), s.Snapshot(Request{Scale: large})
		if b.TailStart > a.TailStart {
			t.Fatalf("target %d begins at %d (%s), target %d at %d (%s)", a.Target, a.TailStart, a.Reason, b.Target, b.TailStart, b.Reason)
		}
	})
}

// When usage is at least 80 %, a run must begin if the messages before the tail have more than smallRest tokens.
func TestPressureAlwaysFindsSomething(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSituation(t, false)
		s.Usage = rapid.Float64Range(80, 150).Draw(t, "pressure")
		got := s.Snapshot(Request{})
		if walked := s.Messages.suffixStart(got.Target); s.Messages.Tokens(got.Start, walked) > smallRest && !got.IsRunnable() {
			t.Fatalf("the newest %d tokens begin at %d: %+v", got.Target, walked, got)
		}
	})
}

func TestWrapUpKeepsTheNewestTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSituation(t, false)
		keep := rapid.IntRange(1, 4).Draw(t, "keep")
		got := s.Snapshot(Request{Mode: WrapUp, KeepTurns: keep})
		turn := s.Messages.newestPrompt(keep)
		if got.TailStart != max(got.Start, turn) && !waitsBefore(s.Messages, turn) {
			t.Fatalf("the tail begins at %d, the turn at %d", got.TailStart, turn)
		}
	})
}

func waitsBefore(m *Messages, ordinal int) bool {
	for _, a := range arcsOf(m) {
		if a.last == open && a.first < ordinal {
			return true
		}
	}
	return false
}

func TestChunksCoverEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := genMessages(t, true)
		budget := rapid.IntRange(1, 2000).Draw(t, "budget")
		var text strings.Builder
		next, end := 1, m.Total()+1
		for len(m.Between(next, end)) > 0 {
			c := ReadChunk(m, next, end, budget, tokens.Count)
			if err := c.CheckCoverage(); err != nil {
				t.Fatal(err)
			}
			if c.Start != next || c.End < c.Start {
				t.Fatalf("chunk %s from %d", c.Range, next)
			}
			if c.Tokens > budget && len(c.Blocks) > 1 {
				t.Fatalf("%d blocks with %d tokens exceed the budget of %d", len(c.Blocks), c.Tokens, budget)
			}
			if rest := len(m.Between(c.End+1, end)); c.HasMore != (rest > 0) {
				t.Fatalf("has more: %v, but %d messages follow", c.HasMore, rest)
			}
			text.WriteString(c.Text() + "\n")
			next = c.End + 1
		}
		for i := range m.list {
			if said := m.list[i].Texts; len(said) > 0 && !strings.Contains(text.String(), strings.Fields(said[0])[0]+" ") && !strings.Contains(text.String(), strings.Fields(said[0])[0]+"\n") {
				t.Fatalf("%q is missing in:\n%s", said[0], &text)
			}
		}
	})
}

func TestTruncatedTextFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		said := rapid.StringN(1, 3000, -1).Draw(t, "text")
		m := NewMessages([]Message{{Ordinal: 1, Role: transcript.User, Texts: []string{said}}}, 1)
		budget := rapid.IntRange(40, 400).Draw(t, "budget")
		c := ReadChunk(m, 1, 2, budget, tokens.Count)
		whole := c.Text()
		c.Truncate(budget, tokens.Count)
		switch {
		case tokens.Count(whole) <= budget:
			if c.IsCut || c.Text() != whole {
				t.Fatalf("cut without need: %q", c.Text())
			}
		case !c.IsCut || !strings.HasSuffix(c.Text(), cutMarker) || !strings.HasPrefix(strings.ToValidUTF8(whole, ""), strings.TrimSuffix(c.Text(), cutMarker)):
			t.Fatalf("cut to %q", c.Text())
		case tokens.Count(c.Text()) > budget+1: // the cut may split a token into two
			t.Fatalf("%d tokens with a budget of %d", tokens.Count(c.Text()), budget)
		}
	})
}

// In this test, the models fail on each run. Above the low mark, Throttle.Next must still make a compartment after a
// few passes. Until then, the failing models may read at most the allowance plus the tokens of one run.
func TestThrottleNeverStallsUnderPressure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var throttle Throttle
		waits, read, most := 0, 0, 0
		for pass := 1; pass <= 200; pass++ {
			usage := rapid.Float64Range(41, 110).Draw(t, "usage")
			tail := rapid.IntRange(1000, 20_000).Draw(t, "tail")
			d := Demand{Pass: pass, Room: 83_200, LowMark: 40, Price: 1, Snapshot: Snapshot{Usage: usage, Cap: runCap(83_200, tail, usage), Reads: rapid.IntRange(300, 60_000).Draw(t, "tokens")}}
			g := throttle.Next(d)
			switch g.Way {
			case Wait:
				throttle = throttle.Waits()
				if waits++; waits > maxWaited {
					t.Fatalf("pass %d: waited %d times: %+v", pass, waits, throttle)
				}
			case Extractive:
				waits, throttle = 0, throttle.Published(Extractive)
			case ByModel:
				if g.Tokens <= 0 || g.Tokens > d.Snapshot.Cap {
					t.Fatalf("grant of %d tokens with a cap of %d", g.Tokens, d.Snapshot.Cap)
				}
				throttle = throttle.Begun(pass, g).Failed(pass, g, g.Tokens, float64(g.Tokens))
				if throttle.Runs == 1 {
					read, most = 0, 0
				}
				most = max(most, allowance(usage, d.Snapshot.Cap, d.Room))
				if read > most {
					t.Fatalf("pass %d: a run begins after models have read %d tokens without a result, allowed are %d", pass, read, most)
				}
				waits, read = 0, read+g.Tokens
			}
		}
	})
}
