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

// A row with a number that no host writes, for example a negative counter, once made every pass of its
// session fail for ever. A broken disk or another program may write such a row. Whatever it says, the
// session's next passes must answer.
func TestB9NonsenseInARowFailsNoSession(t *testing.T) {
	cases := 0
	template := nonsense(t)
	if err := template.store.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(template.dir, "magicctx.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"sessions", "units", "edits", "queued_drops", "thinking", "nudges", "passes", "unit_sums", "model_limits", "model_windows", "cache_lives"} {
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
					continue // the database itself refuses it
				}
				cases++
				what := fmt.Sprintf("%s.%s = %s", table, column.name, value)
				func() {
					defer func() {
						h.store.Close()
						// In a test the host panics at this point. In production it reports the bug and goes
						// on.
						if p := recover(); p != nil && !strings.HasPrefix(fmt.Sprint(p), "bug: unexplained bust") {
							t.Errorf("%s: panic: %v", what, p)
						}
					}()
					h.start()
					h.revision, h.told = 0, 0
					for pass := range 2 {
						h.user(fmt.Sprintf("n%d", pass), "go on")
						if _, err := h.transform(); err != nil {
							t.Errorf("%s: pass %d: %v", what, pass+1, err)
						}
					}
				}()
			}
		}
	}
	if cases < 100 {
		t.Errorf("only %d cases: the test does not find the columns", cases)
	}
}

// nonsense returns a session that has a row in each table.
func nonsense(t *testing.T) *harness {
	h := turn(t)
	h.drop("c1", "3")
	return h
}

type column struct{ name, kind string }

// columnsOf returns the columns of a table, without its key columns.
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

// database opens the host's database as another program would.
func (h *harness) database() *sql.DB {
	h.t.Helper()
	db, err := driver.Open(filepath.Join(h.dir, "magicctx.db"))
	if err != nil {
		h.t.Fatal(err)
	}
	return db
}

// set gives a column of one row a value. It reports whether the database took it.
func set(t *testing.T, h *harness, table, column, value string) bool {
	t.Helper()
	db := h.database()
	defer db.Close()
	query := fmt.Sprintf(`UPDATE %[1]s SET %[2]s = %[3]s WHERE %[2]s = (SELECT max(%[2]s) FROM %[1]s)`, table, column, value)
	_, err := db.Exec(query)
	return err == nil
}
