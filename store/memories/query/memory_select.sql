SELECT
	id, project, category, content, importance, source, source_harness, source_session,
	status = 'permanent', expires_at, directory, seen_at
FROM memories
WHERE project = ?1 AND status <> 'archived' AND (expires_at = 0 OR expires_at > ?2)
ORDER BY id
