SELECT
	id, project, category, content, importance, source, source_harness, source_session,
	status, superseded_by, seen_count, seen_at, created_at, updated_at, expires_at, directory
FROM memories
WHERE project = ?1 AND status <> 'archived' AND (expires_at = 0 OR expires_at > ?2)
ORDER BY id
