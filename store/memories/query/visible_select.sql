-- The active memories of a project (?1), and the memories that the other projects of its workspace share with it.
-- Memories that have expired at ?2 are left out.
WITH shared (project, category, name) AS (
	SELECT other.project, s.category, other.name
	FROM workspace_members AS me
	JOIN workspace_members AS other USING (workspace)
	JOIN workspace_shares AS s USING (workspace)
	WHERE me.project = ?1 AND other.project <> ?1
)
SELECT
	id, m.project, m.category, content, importance, source, source_harness, source_session, source_message,
	status, superseded_by, seen_count, seen_at, created_at, updated_at, expires_at, directory, coalesce(shared.name, ''), test, doubt
FROM memories AS m
LEFT JOIN shared USING (project, category)
WHERE m.project IN (SELECT ?1 UNION SELECT project FROM shared)
	AND (m.project = ?1 OR shared.name IS NOT NULL)
	AND (status = 'active' OR status = 'permanent')
	AND (expires_at = 0 OR expires_at > ?2)
ORDER BY id
