package view

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

func historySession() HistorySession {
	return HistorySession{
		Harness: schema.HarnessOpenCode, Session: "ses_5a1f001eef", Title: "Fix the flaky parser test", Directory: "/home/u/work/magicctx",
		Compartments: 3, Messages: 412, RawTokens: 184_000, Fidelity: 0.93, NewestAt: before(3 * time.Hour),
	}
}

func historyCompartments() []chronicle.Compartment {
	return []chronicle.Compartment{
		{
			Start: 1, End: 180, Title: "The parser's tests and why they are flaky on a loaded machine", Importance: 80, Fidelity: 0.97, MadeBy: "model", Model: "anthropic/claude-haiku-4-5",
			RawTokens: 91_000, CreatedAt: before(26 * time.Hour), Missing: "internal/parse/lex.go · E1234",
			Tiers: [4]string{"U: Find out why TestParse fails sometimes.\n\nThe lexer reads the clock. A slow machine misses its deadline of 5 ms, so the token is cut.", "The lexer reads the clock."},
		},
		{Start: 181, End: 411, Title: "A clock that tests can set", Importance: 60, Fidelity: 0.9, MadeBy: "repaired", Model: "anthropic/claude-haiku-4-5", RawTokens: 92_000, CreatedAt: before(4 * time.Hour), Tiers: [4]string{"The clock is passed in."}},
		{Start: 412, End: 412, Title: "go vet", Importance: 10, Fidelity: 0.5, MadeBy: "extractive", RawTokens: 1000, CreatedAt: before(3 * time.Hour)},
	}
}

func TestPrintedHistory(t *testing.T) {
	other := historySession()
	other.Harness, other.Session, other.Title, other.NewestAt = schema.HarnessPi, "01992c3e-77aa-7c01-a1b2-3c4d5e6f7a8b", "", before(50*time.Hour)
	bare := HistorySession{Harness: schema.HarnessPi, Session: "bare", Title: "A question"}
	for _, width := range []int{40, 80, 200} {
		for name, print := range map[string]func(io.Writer, Page) error{
			"history-none": func(w io.Writer, p Page) error { return PrintHistories(w, nil, p) },
			"history-list": func(w io.Writer, p Page) error {
				return PrintHistories(w, []HistorySession{historySession(), other}, p)
			},
			"history-show": func(w io.Writer, p Page) error { return PrintHistory(w, historySession(), historyCompartments(), p) },
			"history-bare": func(w io.Writer, p Page) error { return PrintHistory(w, bare, nil, p) },
			"history-some": func(w io.Writer, p Page) error {
				return PrintCompartments(w, historySession(), historyCompartments(), p)
			},
		} {
			name := fmt.Sprintf("%s-%d", name, width)
			t.Run(name, func(t *testing.T) {
				var b strings.Builder
				if err := print(&b, Page{Width: width, Now: noon, Program: "magicctx-host"}); err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join("testdata", "screen", name+".txt"), b.String())
			})
		}
	}
}

// For any text from a model, a harness or a project, the output fits the terminal and holds no foreign escape
// sequence.
func TestHistoryIsFitForATerminal(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab/\\-. \x1b[m\n\té日本🙂\u0301\u202e")), 0, 60, -1)
	rapid.Check(t, func(r *rapid.T) {
		h := historySession()
		h.Session, h.Title, h.Directory, h.Harness = text.Draw(r, "session"), text.Draw(r, "title"), text.Draw(r, "directory"), schema.Harness(text.Draw(r, "harness"))
		c := historyCompartments()[0]
		c.Title, c.Missing, c.MadeBy, c.Model, c.Tiers = text.Draw(r, "about"), text.Draw(r, "missing"), chronicle.MadeBy(text.Draw(r, "made by")), text.Draw(r, "model"), [4]string{text.Draw(r, "tier")}
		c.Start, c.End = rapid.IntRange(1, 99_999).Draw(r, "start"), rapid.IntRange(1, 99_999).Draw(r, "end")
		p := Page{Width: rapid.IntRange(1, 200).Draw(r, "width"), Now: noon, Program: "magicctx-host"}
		var b strings.Builder
		for _, err := range []error{
			PrintHistories(&b, []HistorySession{h}, p),
			PrintHistory(&b, h, []chronicle.Compartment{c}, p),
			PrintCompartments(&b, h, []chronicle.Compartment{c}, p),
		} {
			if err != nil {
				r.Fatal(err)
			}
		}
		for line := range strings.SplitSeq(b.String(), "\n") {
			if n := format.Columns(line); n > max(p.Width, minWidth) {
				r.Errorf("%d columns on a page of %d: %q", n, p.Width, line)
			}
			if format.Clean(line) != line || !utf8.ValidString(line) {
				r.Errorf("not fit for a terminal: %q", line)
			}
		}
	})
}

// A text may contain a line that looks like the beginning of another message. So the printed page indents all lines of a
// text after the first. Cleaning the page for a terminal must not remove this indentation.
func TestMessagesCannotBeForged(t *testing.T) {
	text := rapid.StringOf(rapid.RuneFrom([]rune("a\n\r\x1b[2J]9 :U\u2028\v")))
	rapid.Check(t, func(r *rapid.T) {
		var parts []string
		for i := range rapid.IntRange(1, 3).Draw(r, "parts") {
			parts = append(parts, "[7] U: "+strings.ReplaceAll(text.Draw(r, fmt.Sprint(i)), "\n", "\n    "))
		}
		var b strings.Builder
		if err := PrintMessage(&b, parts, Page{Now: noon, Program: "magicctx-host"}); err != nil {
			r.Fatal(err)
		}
		heads := 0
		for line := range strings.SplitSeq(strings.TrimSuffix(b.String(), "\n"), "\n") {
			if strings.HasPrefix(line, "[7] U:") {
				heads++
			} else if line != "" && !strings.HasPrefix(line, "    ") {
				r.Errorf("a line is not indented: %q", line)
			}
			if format.Clean(line) != line {
				r.Errorf("not fit for a terminal: %q", line)
			}
		}
		if heads != len(parts) {
			r.Errorf("%d parts look like %d", len(parts), heads)
		}
	})
}

func TestMessageIsPrintedVerbatim(t *testing.T) {
	var b strings.Builder
	if err := PrintMessage(&b, []string{"[7] result of bash:\n    ok\n    \n    \tindented\n    ", "[7] A: " + strings.Repeat("long ", 60) + "end"}, Page{Width: 40, Color: true}); err != nil {
		t.Fatal(err)
	}
	want := "\x1b[1m[7]\x1b[0m result of bash:\n    ok\n\n    \tindented\n\x1b[1m[7]\x1b[0m A: " + strings.Repeat("long ", 60) + "end\n\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
