package view

import (
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

// heardTwice returns a view that was open when two requests of one session began. The second request was a bust, and
// the provider read 15k of its 20k tokens from its cache.
func heardTwice() Live {
	st := statusOf(1)
	s := &st.Sessions[0]
	s.LastBust.Words = "getting full"
	v := Live{}.Heard(st, "", noon)
	next := *st
	next.Sessions = []schema.SessionStatus{*s}
	n := &next.Sessions[0]
	n.Passes, n.LastPassBust, n.LastCause, n.SizeTokens = s.Passes+1, true, "pressure", 21_000
	v = v.Heard(&next, "", noon)
	usage := next
	usage.Sessions = []schema.SessionStatus{*n}
	u := &usage.Sessions[0]
	u.InputTokens, u.Pressure, u.CacheRead, u.CacheWrite = 20_000, 0.1, n.CacheRead+15_000, n.CacheWrite+5_000
	return v.Heard(&usage, "", noon)
}

// Each request is reported once, when its usage is known.
func TestRequestsAreToldAsTheyCome(t *testing.T) {
	v := heardTwice()
	if len(v.News) != 1 || !strings.HasSuffix(v.News[0], "Fix the flaky parser test, request 213, 20k tokens, 75% from the cache, bust: getting full") {
		t.Errorf("told %q", v.News)
	}
	if v = v.Heard(v.Status, "", noon); len(v.News) != 0 {
		t.Errorf("told again: %q", v.News)
	}
	later := *v.Status
	later.Sessions = []schema.SessionStatus{v.Status.Sessions[0]}
	later.Sessions[0].Passes += 3
	v = v.Heard(&later, "", noon)
	v.Choice.Opened = nameOf(later.Sessions[0])
	if got := drawnOf(v, 120, 50); !strings.Contains(got, "the last of 3 requests") {
		t.Errorf("requests that came between two answers are not counted:\n%s", got)
	}
}

// At each size of the terminal, the view of an opened session must show the texts in `shows`, and no line may be too
// wide.
func TestOpenedSessionFits(t *testing.T) {
	v := heardTwice()
	v.Choice.Opened = nameOf(v.Status.Sessions[0])
	for _, size := range []struct {
		width, height int
		shows         []string
	}{
		{20, 5, []string{"Fix the flaky par…", "20k of 200k", "· q quits"}},
		{80, 24, []string{"Fix the flaky parser test", "20k of 200k tokens (10%)", "bust 130k", "tool results", "93% of all prompts", "getting full; freed 66.3k, cost $0.03", "4 pieces marked", "213     ", "75%  bust: getting full", "esc back", "? help"}},
		{200, 50, []string{"Fix the flaky parser test", "bust 130k", "34m ago, because the prompt had reached the threshold; it freed 66.3k and re-sent 23.1k for about $0.03", "75%  bust: getting full", "p spend"}},
	} {
		got := drawnOf(v, size.width, size.height)
		for _, text := range size.shows {
			if !strings.Contains(got, text) {
				t.Errorf("%dx%d does not show %q:\n%s", size.width, size.height, text, got)
			}
		}
		for line := range strings.Lines(got) {
			if n := format.Columns(strings.TrimSuffix(line, "\n")); n > size.width {
				t.Errorf("%dx%d: %d columns: %q", size.width, size.height, n, line)
			}
		}
		v.ASCII = true
		ascii := drawnOf(v, size.width, size.height)
		v.ASCII = false
		for i, line := range strings.Split(got, "\n") {
			other := strings.Split(ascii, "\n")[i]
			if format.Columns(line) != len(other) || strings.ContainsFunc(other, func(r rune) bool { return r > 0x7e }) {
				t.Errorf("in ASCII: %q is %q", line, other)
			}
		}
		t.Logf("\n%s", got)
	}
}

func TestTextPageShowsAll(t *testing.T) {
	v := Live{Page: &TextPage{Title: "Found: x", Text: strings.Repeat("0123456789", 9) + "\x1b[2J end\n"}}
	if got := drawnOf(v, 40, 10); strings.Count(got, "0123456789") < 8 || !strings.Contains(got, "end") || strings.Contains(got, "\x1b") {
		t.Errorf("the page shows\n%s", got)
	}
}

// A text page breaks its lines between words, and the rest of an indented line has the same indentation.
func TestTextPageBreaksBetweenWords(t *testing.T) {
	v := Live{Page: &TextPage{Title: "Memories", Text: "  12. Tests run with go test, and with nothing else\n"}}
	got := drawnOf(v, 24, 6)
	if want := "\n  12. Tests run with go\n  test, and with nothing\n  else\n"; !strings.Contains(got, want) {
		t.Errorf("the page shows\n%s\nwant%s", got, want)
	}
}

// Even on a tiny screen, a person sees what they type.
func TestTinyScreenShowsWhatIsTyped(t *testing.T) {
	v := Live{Status: statusOf(1), Choice: Choice{Typing: TypesQuery, Query: "where is the parser"}}
	if got := drawnOf(v, 20, 5); !strings.HasSuffix(got, "…ere is the parser▏") {
		t.Errorf("the screen shows\n%s", got)
	}
}
