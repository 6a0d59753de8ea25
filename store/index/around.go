package index

import "github.com/ncruces/go-sqlite3"

const aroundSQL = `
	SELECT
		c.id, p.identity, s.harness, s.session, s.directory, c.message, c.kind, c.role, c.first, c.last, c.at,
		c.subject, c.status, c.text, c.context
	FROM chunks c
	JOIN sessions s ON s.id = c.session
	JOIN projects p ON p.id = s.project
	WHERE c.id >= ?1 AND c.id < ?1 + ?2 AND c.session = (SELECT session FROM chunks WHERE id = ?1)
	ORDER BY c.id
	LIMIT ?3`

// From calls yield with a chunk of a session and the next chunks of that session, in the order in which they were
// stored. It looks at a number of rows only, so that a pass can wait for it.
func (v *View) From(h *Hit, rows, limit int, yield func(Hit)) error {
	return v.x.scan(aroundSQL, func(s *sqlite3.Stmt) { yield(readHit(s)) }, h.row, rows, limit)
}
