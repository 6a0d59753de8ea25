package host

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/schema"
)

func (h *harness) completed(text string) string {
	h.t.Helper()
	r, err := h.host.TextComplete(context.Background(), h, schema.TextCompleteParams{Session: testSession, Text: text})
	if err != nil {
		h.t.Fatal(err)
	}
	return r.Text
}

// Defect D2 (docs/defects.md): the host removes tags that the model has put at the beginning of an answer. It must
// remove only tags that the session has given to a unit. All other section signs belong to the text, as in "§823 BGB".
// The session has the tags 1 to 4.
func TestOnlyGivenTagsComeOffAnAnswer(t *testing.T) {
	h := turn(t)
	for name, begin := range map[string]func(){"in memory": func() {}, "after a restart": h.restart} {
		begin()
		for in, want := range map[string]string{
			"§4§ done":            "done",
			"§1§ §2§ done ":       "done ",
			"\n§1§ done":          "\ndone",
			"§1§ see §2§, §823 ":  "see §2§, §823 ",
			"§5§ done":            "§5§ done", // no unit has this tag yet
			"§823 BGB regelt":     "§823 BGB regelt",
			"see §2§":             "see §2§",
			"§1§":                 "§1§",
			"§1§done":             "§1§done",
			"§01§ done":           "§01§ done",
			" §§ 1, 2 und 3 BGB ": " §§ 1, 2 und 3 BGB ",
			"  plain\n":           "  plain\n",
			"":                    "",
		} {
			if got := h.completed(in); got != want {
				t.Errorf("%s: %q is stored as %q, want %q", name, in, got, want)
			}
		}
	}
	// A tag of one session is ordinary text in another.
	r, err := h.host.TextComplete(context.Background(), h, schema.TextCompleteParams{Session: "ses_other", Text: "§1§ x"})
	if err != nil || r.Text != "§1§ x" {
		t.Errorf("another session: %q, %v", r.Text, err)
	}
}

// A session without ctx_reduce shows no tags, so its model cannot imitate them.
func TestAnswersStayWholeWhereNoTagIsShown(t *testing.T) {
	h := newHarness(t)
	h.config.CtxReduceEnabled = false
	h.host.clients.Open(h, schema.InitializeParams{Harness: h.kind, Directory: h.project}, h.config, nil)
	h.user("u1", "find it")
	h.pass()
	if got := h.completed("§1§ is the first paragraph"); got != "§1§ is the first paragraph" {
		t.Errorf("stored as %q", got)
	}
}

func TestCompletedTextIsTheSameBytes(t *testing.T) {
	h := turn(t)
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{
			"§", "§", "1", "4", "5", "823", "0", " ", " ", "\n", ".", "$", `">`, "BGB", "ä", "\xff", "§1§ ", "§4§ ", "§5§ ", "§1§",
		})).Draw(t, "pieces"), "")
		start := strings.TrimLeft(in, " \n")
		for tag := 1; tag <= 4; tag++ {
			if strings.HasPrefix(start, fmt.Sprintf("§%d§ ", tag)) {
				t.Skip("imitates")
			}
		}
		if got := h.completed(in); got != in {
			t.Fatalf("%q is stored as %q", in, got)
		}
	})
}
