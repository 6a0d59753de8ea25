package words

import (
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

func TestWidget(t *testing.T) {
	trouble := "the historian has answered nothing for an hour, because its provider refuses the key. Set historian.model to a model that you can use: /ctx-menu"
	got := Widget(Panel(full(), []string{trouble, "the disk is slow"}, noon))
	want := []string{
		"█%#+▒▒▒▒░░░░░░░░░░░·········│···············  90k of 200k tokens (45%)",
		"█ system 5k  ▓ definitions 4k  % documents 1.2k  # summaries 6.7k",
		"+ memories 1.8k  ▒ conversation 21k  ░ tools 49.3k  ~ thinking 1k",
		"! the historian has answered nothing for an hour, because its provider",
		"  refuses the key. Set historian.model to a model that you can use:",
		"  /ctx-menu",
		"! 1 problem more: /ctx-status",
		"cache hits 93% · last bust 11:00, getting full; freed 43k, cost $0.04",
		"next bust │ at 130k tokens; 5 pieces marked by the model",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	cut := faultOf(strings.Repeat("trouble ", 60))
	if len(cut) != faultLines || !strings.HasSuffix(cut[faultLines-1], "trouble …") {
		t.Errorf("a long problem: %q", cut)
	}
	st := full()
	st.Sidekick = &schema.SidekickStatus{}
	st.LastBust.Words = strings.Repeat("a cause of a newer host ", 40)
	long := Widget(Panel(st, []string{"one", "two"}, noon))
	if len(long) != widgetLines || !slices.ContainsFunc(long, func(line string) bool { return strings.HasPrefix(line, "last bust") && strings.HasSuffix(line, "…") }) {
		t.Errorf("with a long fact:\n%s", strings.Join(long, "\n"))
	}
	if got := Widget(Panel(schema.SessionStatus{}, nil, noon)); got != nil {
		t.Errorf("before the first request: %q", got)
	}
}

// No line of a screen is wider than the terminal, whatever a title, a piece or a problem says.
func TestScreenFitsEachWidth(t *testing.T) {
	hostile := "\x1b]0;x\x07\x1b[31mred\nline\u202e " + strings.Repeat("界wide ", 200)
	st := full()
	st.Title = hostile
	units := slices.Repeat([]schema.DroppedUnit{{Tag: 6, Kind: "tool", Tool: hostile, About: hostile, Tokens: 1200, Rule: hostile}}, 60)
	st.Panel = Panel(st, []string{hostile}, noon)
	for _, columns := range []int{-1, 24, 40, 80, 200, 1 << 40} {
		lines := Screen(st, units, 7, columns)
		for _, line := range append(lines, Widget(st.Panel)...) {
			if n := format.Columns(line); n > max(columns, widgetColumns) && columns >= leastColumns || n > mostColumns || format.Clean(line) != line {
				t.Errorf("%d columns: %d in %q", columns, n, line)
			}
		}
		if columns == 80 && !strings.HasSuffix(lines[0], "…") {
			t.Errorf("a title is cut without a sign: %q", lines[0])
		}
		at := slices.Index(lines, "… and 10 older ones")
		if at < 0 || strings.Join(lines[at+1:], " ") != "Not listed: 7 pieces of messages that are summarised. /ctx-menu summaries shows the summaries and the messages." {
			t.Errorf("%d columns end with %q", columns, lines[max(0, at):])
		}
	}
}

// The bug: if a call had a long argument, a list of 60 columns had no room for the size of the piece and for the reason
// why it was dropped.
func TestPieceKeepsSizeAndReasonBesideALongArgument(t *testing.T) {
	u := schema.DroppedUnit{Tag: 17, Tool: "read", About: "src/internal/very/deep/in/the/tree/of/the/project/main.go", Tokens: 2900, Rule: "duplicate calls"}
	if got, want := Piece(u, 49), "§17§ read …ct/main.go  2.9k tokens, repeated call"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
