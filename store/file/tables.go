package file

import (
	"fmt"
	"slices"
	"strings"
)

// selectTables finds the tables of a database, in the order of their names. It leaves out views, because they
// cannot hold rows.
const selectTables = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`

// checkTables fails with errCorrupt if a database with this schema version lacks a table that every host has
// created. SQLite finds nothing wrong with such a file, but each pass would fail on it.
func checkTables(version int, present []string) error {
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
			if name, _, _ := strings.Cut(rest, " "); isTable && !slices.Contains(present, name) {
				lacks = append(lacks, name)
			}
		}
	}
	if len(lacks) > 0 {
		return fmt.Errorf("%w: it lacks %s", errCorrupt, strings.Join(lacks, ", "))
	}
	return nil
}
