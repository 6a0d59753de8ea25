-- The chunks that match a query of terms, the newest rows first. ?2 is the session that asks. The model still sees the
-- newest messages of this session, so the result has only its messages up to ?3, and of later messages only the parts
-- that ?5 lists. ?4 is the only project to search; 0 means all projects. ?7 to ?11 filter by kinds, role, harness,
-- session, and oldest time. A filter that is empty or 0 leaves out nothing.
SELECT
	c.id, p.identity, s.harness, s.session, s.directory, c.message, c.kind, c.role, c.first, c.last, c.at,
	c.subject, c.status, c.text, c.context, c.session
FROM terms t
CROSS JOIN chunks c ON c.id = t.rowid
CROSS JOIN sessions s ON s.id = c.session
CROSS JOIN projects p ON p.id = s.project
WHERE t.terms MATCH ?1 AND (?4 = 0 OR s.project = ?4)
	AND NOT (
		c.session = ?2 AND c.last > ?3
		AND CASE c.kind WHEN 'text' THEN 'text ' ELSE 'call ' END || c.message NOT IN (SELECT value FROM json_each(?5))
	)
	AND (?7 = '' OR instr(?7, ' ' || c.kind || ' ')) AND (?8 = '' OR c.role = ?8) AND (?9 = '' OR s.harness = ?9)
	AND (?10 = '' OR s.session = ?10) AND c.at >= ?11
ORDER BY t.rowid DESC
LIMIT ?6
