package database

import "github.com/ncruces/go-sqlite3"

// MaxCount bounds a counter of messages, passes, tags or tokens. No host writes a larger or a negative one. If a
// row holds one, a broken disk or another program has changed it. The session must still work, so reads replace
// the number with the nearest plausible one.
const MaxCount = 1 << 48

// Count reads a counter. It returns 0 for a negative one, and at most MaxCount.
func Count(s *sqlite3.Stmt, column int) int { return int(min(max(0, s.ColumnInt64(column)), MaxCount)) }

// Limit converts our limit to SQLite's limit. In ours, 0 means all. In SQLite's, -1 means all.
func Limit(limit int) int {
	if limit <= 0 {
		return -1
	}
	return limit
}
