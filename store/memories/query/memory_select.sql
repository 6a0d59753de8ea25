-- The memories of a project, or of all projects if ?1 is ''. Unless ?2 is set, memories that are not active, or have
-- expired at the time ?3, are left out. If ?4 is not 0, only the memory with this id is returned.
SELECT
	id, project, category, content, importance, source, source_harness, source_session, source_message,
	status, superseded_by, seen_count, seen_at, created_at, updated_at, expires_at, directory, '', test, doubt
FROM memories
WHERE (?1 = '' OR project = ?1)
	AND (?2 OR status = 'active' OR status = 'permanent')
	AND (?2 OR expires_at = 0 OR expires_at > ?3)
	AND (?4 = 0 OR id = ?4)
ORDER BY project, id
