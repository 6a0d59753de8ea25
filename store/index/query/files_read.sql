-- The files that the newest ?2 sessions of a project have read. For each file, the query counts the sessions that have
-- read it. The file with the most sessions comes first.
SELECT c.subject, s.directory, count(*), max(c.at)
FROM (
	SELECT id, directory FROM sessions
	WHERE project = (SELECT id FROM projects WHERE identity = ?1)
	ORDER BY id DESC
	LIMIT ?2
) s
CROSS JOIN chunks c ON c.session = s.id AND c.kind = 'read'
GROUP BY c.subject, s.directory
ORDER BY 3 DESC, 4 DESC
LIMIT ?3
