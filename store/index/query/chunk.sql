-- The chunk ?1, with the conditions of candidates.sql.
SELECT
	c.id, p.identity, s.harness, s.session, s.directory, c.message, c.kind, c.role, c.first, c.last, c.at,
	c.subject, c.status, c.text, c.context, c.session
FROM chunks c
CROSS JOIN sessions s ON s.id = c.session
CROSS JOIN projects p ON p.id = s.project
WHERE c.id = ?1
	AND NOT (
		c.session = ?2 AND c.last > ?3
		AND CASE c.kind WHEN 'text' THEN 'text ' ELSE 'call ' END || c.message NOT IN (SELECT value FROM json_each(?4))
	)
	AND (?5 = '' OR instr(?5, ' ' || c.kind || ' ')) AND (?6 = '' OR c.role = ?6) AND c.at >= ?7
