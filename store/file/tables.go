package file

import (
	"fmt"
	"strings"
)

// selectTables leaves out views, because they cannot hold rows.
const selectTables = `SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`

// checkTables fails with errCorrupt if a database lacks a table of its schema version, or if the CREATE statement of a
// table has changed. For example, one flipped bit may change the name of a column. SQLite would open this database
// without an error, but each pass would fail. `present` maps each table to its CREATE statement.
func checkTables(version int, present map[string]string) error {
	if version < 0 {
		return fmt.Errorf("%w: its schema has version %d", errCorrupt, version)
	}
	if version != newestVersion() {
		return nil
	}
	var lacks []string
	for _, m := range Released() {
		for line := range strings.Lines(m.SQL) {
			rest, isTable := strings.CutPrefix(line, "CREATE TABLE ")
			name, _, _ := strings.Cut(rest, " ")
			if statement := present[name]; isTable && (statement == "" || !strings.Contains(m.SQL, statement)) {
				lacks = append(lacks, name)
			}
		}
	}
	if len(lacks) > 0 {
		return fmt.Errorf("%w: it lacks %s as this host creates it", errCorrupt, strings.Join(lacks, ", "))
	}
	return nil
}
