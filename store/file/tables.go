package file

import (
	"fmt"
	"slices"
	"strings"
)

// tables are the tables of the newest schema, which has version tablesVersion. A test compares them with the
// migrations.
var tables = []string{
	"cache_lives", "compartments", "edits", "heads", "historian_runs", "histories",
	"memories", "memory_changes", "model_limits", "model_windows", "nudges", "passes",
	"queued_drops", "recomp_compartments", "removals", "sessions", "thinking", "tidies", "token_ratios", "tool_replies",
	"unit_sums", "units", "withdrawn_compartments",
}

const tablesVersion = 24

// selectTables finds the tables of a database, in the order of their names. It leaves out views, because they
// cannot hold rows.
const selectTables = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`

// checkTables fails with errCorrupt if a database with this schema version lacks a table that every host has
// created. SQLite finds nothing wrong with such a file, but each pass would fail on it.
func checkTables(version int, present []string) error {
	if version < 0 {
		return fmt.Errorf("%w: its schema has version %d", errCorrupt, version)
	}
	if version != tablesVersion {
		return nil
	}
	lacks := slices.DeleteFunc(slices.Clone(tables), func(name string) bool { return slices.Contains(present, name) })
	if len(lacks) > 0 {
		return fmt.Errorf("%w: it lacks %s", errCorrupt, strings.Join(lacks, ", "))
	}
	return nil
}
