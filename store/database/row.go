package database

import "github.com/ncruces/go-sqlite3"

// MaxCount bounds a counter of messages, passes, tags or tokens. No host writes a larger or a negative number. If a row
// holds such a number, a broken disk or another program has changed it. The session must still work, so reads replace
// it with 0 or MaxCount.
const MaxCount = 1 << 48

// Count reads a counter. For a negative number it returns 0, and for any other at most MaxCount.
func Count(s *sqlite3.Stmt, column int) int { return int(min(max(0, s.ColumnInt64(column)), MaxCount)) }

// Limit converts a limit of this program, in which 0 means all, to a limit of SQLite, in which -1 means all.
func Limit(limit int) int {
	if limit <= 0 {
		return -1
	}
	return limit
}
