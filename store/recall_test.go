package store

import (
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

// The host recalls a line from an earlier message, and stores it with the pass that sent it. Later passes change only
// ActedPass, which says when the model used the line. The line stays until the session is deleted.
func TestRecallIsStoredWithItsPass(t *testing.T) {
	s := openIn(t, t.TempDir())
	row := RecallRow{Tag: 3, Pass: 1, SourceSession: "ses_0", Ordinal: 12, Fact: -7, Names: `["a.go"]`, Tokens: 50}
	followed := row
	followed.ActedPass = 2
	for i, given := range []RecallRow{row, followed} {
		c := commit(key, i+1)
		c.Recalls = []RecallRow{given}
		must(t, s.CommitPass(t.Context(), c))
		all, err := s.Recalls(t.Context(), key)
		must(t, err)
		same(t, "lines", all, []RecallRow{given})
		report, _, err := s.Reports.Of(t.Context(), key)
		must(t, err)
		same(t, "report", *report.Recalled, schema.Recalled{Lines: 1, Acted: i, Tokens: 50})
	}
	must(t, s.DeleteSession(t.Context(), key))
	all, err := s.Recalls(t.Context(), key)
	must(t, err)
	same(t, "lines of a deleted session", len(all), 0)
}
