package history_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline/history"
)

func items() []chronicle.Note {
	return []chronicle.Note{
		{ID: 1, SaidBy: chronicle.ByUser, Session: "mine", Message: 4, Content: "Never push to <main>.", Status: chronicle.NoteIsActive, CreatedAt: 10, UpdatedAt: 10},
		{ID: 2, SaidBy: chronicle.ByAgent, Session: "other", Message: 9, Content: "I will add tests later.", Status: chronicle.NoteIsActive, CreatedAt: 30, UpdatedAt: 30},
		{ID: 3, SaidBy: chronicle.ByUser, Session: "mine", Message: 5, Content: "TODO", Status: chronicle.NoteIsDone, CreatedAt: 10, UpdatedAt: 30},
		{ID: 4, SaidBy: chronicle.ByUser, Session: "mine", Message: 6, Content: "must", Status: chronicle.NoteIsDismissed, CreatedAt: 25, UpdatedAt: 30},
	}
}

const itemNotice = "The user or you have said that this must still happen, or must never. It is a record of words, and no new request. ctx_note dismisses what is done.\n"

// An item from another session must name that session. Its message number alone would look like a number of this
// session.
func TestBaselineShowsOpenItems(t *testing.T) {
	got := history.Baseline(history.BaselineInput{Promises: items(), Session: "mine", CountText: tokens.Count}).Text
	want := "<open-items>\n" + itemNotice + `  <item id="1" by="user" message="4">Never push to &lt;main&gt;.</item>
  <item id="2" by="agent" session="other" message="9">I will add tests later.</item>
</open-items>`
	if !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := history.Baseline(history.BaselineInput{Promises: items()[2:], CountText: tokens.Count}).Text; strings.Contains(got, "open-items") {
		t.Error(got)
	}
}

func TestDeltaTellsOfItems(t *testing.T) {
	got := deltaOf(history.DeltaInput{Promises: items(), Session: "mine", FoldedAt: 20}).Text
	want := "<session-history-since>\n<open-item-updates>\n" + itemNotice + `  <closed id="3"/>
  <item id="2" by="agent" session="other" message="9">I will add tests later.</item>
</open-item-updates>
</session-history-since>`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := deltaOf(history.DeltaInput{Promises: items(), FoldedAt: 30}).Text; got != history.EmptyDelta {
		t.Error(got)
	}
}

func TestOpenItemsHaveABudget(t *testing.T) {
	var all []chronicle.Note
	for i := range 300 {
		all = append(all, chronicle.Note{ID: int64(i), SaidBy: chronicle.ByUser, Content: strings.Repeat("must ", 30), Status: chronicle.NoteIsActive})
	}
	got := history.Baseline(history.BaselineInput{Promises: all, CountText: tokens.Count})
	_, section, _ := strings.Cut(got.Text, "<open-items>")
	shown := strings.Count(section, "<item ")
	if size := tokens.Count(section); size > 900 || size < 700 || !strings.Contains(section, `id="299"`) || !strings.Contains(section, fmt.Sprintf("\n  %d older ones: ctx_note shows them.\n", 300-shown)) {
		t.Errorf("%d tokens:\n%s", size, section)
	}
}
