package file

import (
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// A planted object is a trigger or a view that another program has added. SQLite would run such a trigger during the
// host's own statements.
type planted struct{ kind, name string }

func (p planted) String() string { return p.kind + " " + p.name }

// plantedIn returns the planted objects of a database, triggers first. SQLite stores the text of each object. If the
// text is in none of the released migrations, the object is planted.
func plantedIn(c *sqlite3.Conn) (all []planted, err error) {
	err = Scan(c, `SELECT type, name, sql FROM sqlite_schema WHERE type IN ('trigger', 'view') ORDER BY type, name`, func(row *sqlite3.Stmt) {
		statement := row.ColumnText(2) + ";"
		if !slices.ContainsFunc(Released(), func(m Migration) bool { return strings.Contains(m.SQL, statement) }) {
			all = append(all, planted{row.ColumnText(0), row.ColumnText(1)})
		}
	})
	return all, err
}

func removePlanted(c *sqlite3.Conn) ([]planted, error) {
	all, err := plantedIn(c)
	for _, p := range all {
		if err == nil {
			err = c.Exec("DROP " + p.kind + ` IF EXISTS "` + strings.ReplaceAll(p.name, `"`, `""`) + `"`)
		}
	}
	return all, err
}
