SELECT
	id, project, category, content, importance, source, source_harness, source_session,
	status = 'permanent', expires_at, directory, seen_at
FROM memories
WHERE status <> 'archived'
ORDER BY project, id
