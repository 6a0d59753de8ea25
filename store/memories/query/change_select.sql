-- The changes of the memories of a project (?1) and of the user, and of the other projects of its workspace, after a
-- change (?2). If another project shares the category of a changed memory, the change becomes "restore", because the
-- memory may be new here. If it does not share the category, the change becomes "archive", without the content.
SELECT
	id, project, CASE WHEN isOwn OR kind = 'delete' THEN kind WHEN isShared THEN 'restore' ELSE 'archive' END, memory,
	superseded_by, CASE WHEN isOwn OR isShared THEN category ELSE '' END, CASE WHEN isOwn OR isShared THEN content ELSE '' END, at,
	coalesce((SELECT source FROM memories WHERE memories.id = memory), '')
FROM (
	SELECT *, project IN (?1, 'user') AS isOwn, kind IN ('update', 'restore') AND (project, category) IN (
		SELECT other.project, s.category
		FROM workspace_members AS me
		JOIN workspace_members AS other USING (workspace)
		JOIN workspace_shares AS s USING (workspace)
		WHERE me.project = ?1
	) AS isShared
	FROM memory_changes
	WHERE id > ?2
)
WHERE isOwn OR project IN (
	SELECT other.project
	FROM workspace_members AS me
	JOIN workspace_members AS other USING (workspace)
	WHERE me.project = ?1
)
ORDER BY id
