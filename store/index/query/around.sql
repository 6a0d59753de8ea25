-- The chunks of the messages ?2 to ?3 of a session, with the conditions of candidates.sql. Files are left out, because
-- a file has only one row, at the message of its last use.
SELECT
	c.id, p.identity, s.harness, s.session, s.directory, c.message, c.kind, c.role, c.first, c.last, c.at,
	c.subject, c.status, c.text, c.context, c.session
FROM chunks c
CROSS JOIN sessions s ON s.id = c.session
CROSS JOIN projects p ON p.id = s.project
WHERE c.session = ?1 AND c.last BETWEEN ?2 AND ?3 AND c.kind NOT IN ('read', 'write')
	AND NOT (
		c.session = ?4 AND c.last > ?5
		AND CASE c.kind WHEN 'text' THEN 'text ' ELSE 'call ' END || c.message NOT IN (SELECT value FROM json_each(?6))
	)
	AND (?7 = '' OR instr(?7, ' ' || c.kind || ' ')) AND (?8 = '' OR c.role = ?8) AND c.at >= ?9
