package database

import "github.com/ncruces/go-sqlite3"

// MaxCount bounds a counter of messages, passes, tags or tokens. A negative or larger number comes from a broken disk
// or another program. Reads replace it with 0 or MaxCount, so that the session still works.
const MaxCount = 1 << 48

// Count reads a counter.
func Count(s *sqlite3.Stmt, column int) int { return int(min(max(0, s.ColumnInt64(column)), MaxCount)) }

// Limit converts a limit to SQLite's form. 0 means all rows, for which SQLite uses -1.
func Limit(limit int) int {
	if limit <= 0 {
		return -1
	}
	return limit
}
