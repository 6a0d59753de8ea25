package database

import "github.com/ncruces/go-sqlite3"

// MaxCount bounds a counter of messages, passes, tags or tokens. A larger or a negative number comes from a broken
// disk or another program. The session must still work, so reads replace such a number with 0 or MaxCount.
const MaxCount = 1 << 48

// Count reads a counter.
func Count(s *sqlite3.Stmt, column int) int { return int(min(max(0, s.ColumnInt64(column)), MaxCount)) }

// Limit converts a limit from 0 for all to SQLite's -1 for all.
func Limit(limit int) int {
	if limit <= 0 {
		return -1
	}
	return limit
}
