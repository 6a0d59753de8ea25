-- The memories of a project, or of all projects if ?1 is ''. ?2 also selects those that are not active. Of the active
-- ones, those that have expired at ?3 are left out. If ?4 is not 0, only the memory with this id. ?5 also selects the
-- active memories that the other projects of its workspace share with it.
WITH shared (project, category, name) AS (
	SELECT other.project, s.category, other.name
	FROM workspace_members AS me
	JOIN workspace_members AS other USING (workspace)
	JOIN workspace_shares AS s USING (workspace)
	WHERE ?5 AND me.project = ?1 AND other.project <> me.project
)
SELECT
	id, m.project, m.category, content, importance, source, source_harness, source_session, source_message,
	status, superseded_by, seen_count, seen_at, created_at, updated_at, expires_at, directory, coalesce(shared.name, '')
FROM memories AS m
LEFT JOIN shared USING (project, category)
WHERE (?1 = '' OR m.project = ?1 OR shared.name IS NOT NULL)
	AND (?2 AND shared.name IS NULL OR status = 'active' OR status = 'permanent')
	AND (?2 AND shared.name IS NULL OR expires_at = 0 OR expires_at > ?3)
	AND (?4 = 0 OR id = ?4)
ORDER BY CASE WHEN ?1 = '' THEN m.project END, id
