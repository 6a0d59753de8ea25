-- A chunk and the next chunks of its session in the order in which they were stored. Only ?2 rows are read, including
-- rows of other sessions.
SELECT
	c.id, p.identity, s.harness, s.session, s.directory, c.message, c.kind, c.role, c.first, c.last, c.at,
	c.subject, c.status, c.text, c.context, c.session
FROM chunks c
CROSS JOIN sessions s ON s.id = c.session
CROSS JOIN projects p ON p.id = s.project
WHERE c.id >= ?1 AND c.id < ?1 + ?2 AND c.session = ?3
ORDER BY c.id
LIMIT ?4
