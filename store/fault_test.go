package store

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/store/file"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/work"
)

var errFault = errors.New("injected fault")

// set creates the state that write expects.
var writes = map[string]struct {
	set   func(t *testing.T, s *Store)
	write func(t *testing.T, s *Store) error
}{
	"publish": {begin, func(t *testing.T, s *Store) error { return s.History.Publish(t.Context(), whole(t, s)) }},
	"promote": {
		func(t *testing.T, s *Store) {
			begin(t, s)
			must(t, s.History.Publish(t.Context(), whole(t, s)))
			must(t, s.History.SaveStaging(t.Context(), key, runner, Staging{Compartments: []chronicle.Compartment{compartment(1, 4)}}))
		},
		func(t *testing.T, s *Store) error {
			p := publication(t, s, compartment(1, 4), compartment(5, 8))
			p.Run.Kind = "recomp"
			return s.History.Promote(t.Context(), p)
		},
	},
	"stage": {
		func(t *testing.T, s *Store) {
			begin(t, s)
			must(t, s.History.SaveStaging(t.Context(), key, runner, Staging{Compartments: []chronicle.Compartment{compartment(1, 4)}}))
		},
		func(t *testing.T, s *Store) error {
			return s.History.SaveStaging(t.Context(), key, runner, Staging{Compartments: []chronicle.Compartment{compartment(1, 4), compartment(5, 6)}})
		},
	},
	"revert": {
		func(t *testing.T, s *Store) {
			begin(t, s)
			must(t, s.History.Publish(t.Context(), whole(t, s)))
		},
		func(t *testing.T, s *Store) error {
			_, err := s.History.Withdraw(t.Context(), key, 6)
			return err
		},
	},
	"fold": {
		func(t *testing.T, s *Store) {
			begin(t, s)
			must(t, s.History.Publish(t.Context(), whole(t, s)))
		},
		func(t *testing.T, s *Store) error { return s.CommitPass(t.Context(), fold(2)) },
	},
	"fork": {
		func(t *testing.T, s *Store) {},
		func(t *testing.T, s *Store) error {
			c := fold(1)
			c.Drained, c.Head = nil, nil
			c.Inherited = &Inheritance{Head: head(1), Compartments: []chronicle.Compartment{compartment(1, 6)}}
			return s.CommitPass(t.Context(), c)
		},
	},
	"failed run": {begin, func(t *testing.T, s *Store) error {
		return s.Runs.Record(t.Context(), HistorianOf(key), work.RunRow{Kind: "incremental", Status: work.Failed, Reason: "no answer", Pass: 1, StartedAt: now}, 3)
	}},
	"applied marker": {
		func(t *testing.T, s *Store) {
			begin(t, s)
			must(t, s.History.Publish(t.Context(), whole(t, s)))
		},
		func(t *testing.T, s *Store) error {
			return s.Markers.SaveApplied(t.Context(), key, `{"ordinal":9}`, historyOf(t, s).PendingMarker)
		},
	},
	"changed memory": {
		func(t *testing.T, s *Store) {
			begin(t, s)
			must(t, s.History.Publish(t.Context(), whole(t, s)))
		},
		func(t *testing.T, s *Store) error {
			_, err := s.Answer(t.Context(), key, "call-2", func(e *memories.Editor) (string, error) {
				_, err := e.Archive(project, []int64{1}, "")
				return "done", err
			})
			return err
		},
	},
}

func head(epoch int) *HeadRow {
	return &HeadRow{
		Epoch: epoch, ThroughKey: "msg_9", ThroughOrdinal: 9, Pinned: `["msg_8"]`, Baseline: "<session-history/>", Acknowledgement: "I have read it.", Delta: "<new/>",
		BaselineSeq: 1, DeltaSeq: -1, BaselineTokens: 900, DeltaTokens: 9, Sections: `{"history":900}`, Memories: `[1]`, MemoryID: 1, ChangeID: 2,
		FoldedPass: 2, FoldedAt: now, FoldReason: "first", DocsHash: "d0c5", KeyFiles: "h a.go\n",
	}
}

func fold(n int) PassCommit {
	c := commit(key, n)
	c.Head, c.Drained = head(n), []int{1}
	c.Edits = []EditRow{{Tag: 1, Kind: "drop", Pass: n}}
	c.Pass.Verdict = "hard"
	return c
}

// Bug H37: the host was killed after it had stored compartments and before it had stored their drops, so only the
// compartments were in the database. Now, if any statement of a write fails, or the host is killed just before it, the
// whole write is undone.
func TestBugH37FaultBetweenAnyTwoStatements(t *testing.T) {
	for name, w := range writes {
		t.Run(name, func(t *testing.T) {
			s := openIn(t, t.TempDir())
			w.set(t, s)
			before := contents(t, s)

			// In round i, statement i+1 fails. The rounds end when the write succeeds.
			for i := 0; ; i++ {
				n, failed := 0, ""
				s.Fault = func(query string) error {
					if n++; n != i+1 {
						return nil
					}
					failed = query
					return errFault
				}
				err := w.write(t, s)
				s.Fault = nil
				if err == nil {
					if n < 4 {
						t.Fatalf("only %d statements", n)
					}
					break
				}
				if !errors.Is(err, errFault) { // another error: an earlier failure has changed something
					t.Fatalf("failed at statement %d: %v", i, err)
				}
				if got := contents(t, s); !equal(got, before) {
					t.Fatalf("failed at %s:\n%s", failed, strings.Join(got, "\n"))
				}
			}
			after := contents(t, s)
			if equal(before, after) {
				t.Fatal("the write has changed nothing")
			}

			s = openIn(t, t.TempDir())
			w.set(t, s)
			s.Fault = func(query string) error {
				if killed := contentsOfKilled(t, s); !equal(killed, before) {
					t.Errorf("killed before %s:\n%s", query, strings.Join(killed, "\n"))
				}
				return nil
			}
			must(t, w.write(t, s))
			s.Fault = nil
			same(t, "without a fault", contents(t, s), after)
			same(t, "killed after the commit", contentsOfKilled(t, s), after)
		})
	}
}

func equal(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }

// contentsOfKilled returns what the next host finds if s is killed: the bytes that have reached the operating system.
func contentsOfKilled(t *testing.T, s *Store) []string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, filepath.Base(s.Path()))
	for _, suffix := range []string{"", "-wal"} {
		copyFile(t, s.Path()+suffix, path+suffix)
	}
	c, err := sqlite3.Open(path)
	must(t, err)
	defer c.Close()
	var check string
	must(t, file.Scan(c, `PRAGMA integrity_check`, func(row *sqlite3.Stmt) { check = row.ColumnText(0) }))
	if check != "ok" {
		t.Errorf("integrity: %s", check)
	}
	return rowsIn(t, c)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	must(t, err)
	defer in.Close()
	out, err := os.Create(to)
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, errors.Join(err, out.Close()))
}
