package host

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3/driver"
)

// A broken disk or another program may change a number in the database to one that no host would write, for example to
// a negative counter. Whatever the row holds, the next passes of the session must get an answer, and its historian must
// go on.
func TestB9NonsenseInARowFailsNoSession(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector runs with -short, and the goroutines do not depend on the column")
	}
	tables := []string{"sessions", "units", "edits", "queued_drops", "thinking", "nudges", "passes", "unit_sums", "model_limits", "model_windows", "cache_lives"}
	if cases := eachNonsense(t, nonsense(t), tables, func(h *harness, pass int) {
		h.user(fmt.Sprintf("n%d", pass), "go on")
	}); cases < 100 {
		t.Errorf("only %d cases: the test does not find the columns", cases)
	}
	tables = []string{"heads", "compartments", "withdrawn_compartments", "histories", "memories"}
	if cases := eachNonsense(t, nonsenseHistory(t), tables, func(h *harness, pass int) {
		h.talk(40+pass, 1, 300, 55_000) // 86 %
		h.user(fmt.Sprintf("n%d", pass), "go on")
	}); cases < 60 {
		t.Errorf("only %d cases of a history: the test does not find the columns", cases)
	}
}

// eachNonsense tries every column of `tables`. For each column, it copies the session of `template`, writes nonsense
// into the column, and runs two passes of the copy. Before each pass, it calls `goOn`.
func eachNonsense(t *testing.T, template *harness, tables []string, goOn func(h *harness, pass int)) (cases int) {
	t.Helper()
	template.stop()
	content, err := os.ReadFile(filepath.Join(template.dir, "magicctx.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		for _, column := range columnsOf(t, template, table) {
			values := []string{"-1", "9223372036854775807"}
			if column.kind == "TEXT" {
				values = []string{"'nonsense'"}
			}
			for _, value := range values {
				h := *template
				h.t, h.dir, h.messages = t, t.TempDir(), slices.Clone(template.messages)
				if err := os.WriteFile(filepath.Join(h.dir, "magicctx.db"), content, 0o600); err != nil {
					t.Fatal(err)
				}
				if !set(t, &h, table, column.name, value) {
					continue // the database itself refuses the value
				}
				cases++
				what := fmt.Sprintf("%s.%s = %s", table, column.name, value)
				func() {
					defer func() {
						// Nonsense in a row may cause a bust that the host cannot explain. In production, the host
						// reports this as a bug and continues. In a test, the report panics, so this panic is allowed
						// here.
						if p := recover(); p != nil && !strings.HasPrefix(fmt.Sprint(p), "bug: unexplained bust") {
							t.Errorf("%s: panic: %v", what, p)
						}
						h.stop()
					}()
					h.start()
					h.revision, h.told = 0, 0
					for pass := range 2 {
						goOn(&h, pass)
						if _, err := h.transform(); err != nil {
							t.Errorf("%s: pass %d: %v", what, pass+1, err)
						}
						h.settle()
					}
				}()
			}
		}
	}
	return cases
}

func nonsense(t *testing.T) *harness {
	h := turn(t)
	h.drop("c1", "3")
	return h
}

func nonsenseHistory(t *testing.T) *harness {
	h := answering(t, good)
	h.talkLong()
	h.flush()
	h.user("again", "go on")
	h.pass()
	db := h.database()
	defer db.Close()
	for _, query := range []string{
		`INSERT INTO withdrawn_compartments SELECT * FROM compartments`,
		`INSERT INTO memories (project, category, content, hash, importance, source, seen_at, created_at, updated_at) VALUES ('/p', 'NAMING', 'x', 'h', 50, 'historian', 1, 1, 1)`,
	} {
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

type column struct{ name, kind string }

func columnsOf(t *testing.T, h *harness, table string) []column {
	t.Helper()
	db := h.database()
	defer db.Close()
	rows, err := db.Query(`SELECT name, type FROM pragma_table_info(?) WHERE name NOT IN ('harness', 'session_id', 'provider', 'model')`, table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []column
	for rows.Next() {
		var c column
		if err := rows.Scan(&c.name, &c.kind); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		t.Fatalf("there is no table %s", table)
	}
	return all
}

// database opens the database directly, as another program would.
func (h *harness) database() *sql.DB {
	h.t.Helper()
	db, err := driver.Open(filepath.Join(h.dir, "magicctx.db"))
	if err != nil {
		h.t.Fatal(err)
	}
	return db
}

// set reports whether the database accepted the value.
func set(t *testing.T, h *harness, table, column, value string) bool {
	t.Helper()
	db := h.database()
	defer db.Close()
	query := fmt.Sprintf(`UPDATE %[1]s SET %[2]s = %[3]s WHERE %[2]s = (SELECT max(%[2]s) FROM %[1]s)`, table, column, value)
	_, err := db.Exec(query)
	return err == nil
}
