package store

import (
	"errors"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// No statement of a pass may make SQLite build a table in memory. This would take longer than writing the row, and the
// user waits for every pass.
func TestPassStatementsBuildNoTable(t *testing.T) {
	s := openIn(t, t.TempDir())
	must(t, s.CommitPass(t.Context(), commit(key, 1)))
	var prepared []string
	s.Fault = func(query string) error {
		prepared = append(prepared, query)
		return nil
	}
	second := commit(key, 2)
	second.Head = head(1)
	must(t, s.CommitPass(t.Context(), second))
	if len(prepared) < 5 { // at least begin, session, unit, journal and commit
		t.Fatalf("only %d statements were prepared", len(prepared))
	}
	for _, query := range prepared {
		err := s.View(t.Context(), func(c *sqlite3.Conn) error {
			stmt, _, err := c.Prepare("EXPLAIN " + query)
			if err != nil {
				return err
			}
			defer stmt.Close()
			for stmt.Step() {
				if stmt.ColumnText(1) == "OpenEphemeral" {
					t.Errorf("SQLite builds a table in memory for%s", query)
				}
			}
			return stmt.Err()
		})
		must(t, err)
	}
}

func TestChecksRefuseUnknownWords(t *testing.T) {
	for name, spoil := range map[string]func(*PassCommit){
		"mode":    func(p *PassCommit) { p.Session.Mode = "other" },
		"kind":    func(p *PassCommit) { p.Units[0].Kind = "other" },
		"verdict": func(p *PassCommit) { p.Pass.Verdict = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			s := openIn(t, t.TempDir())
			p := commit(key, 1)
			spoil(&p)
			if err := s.CommitPass(t.Context(), p); !errors.Is(err, sqlite3.CONSTRAINT_CHECK) {
				t.Errorf("stored an unknown %s: %v", name, err)
			}
		})
	}
}
