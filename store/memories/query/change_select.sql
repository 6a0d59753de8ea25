-- All changes after change ?2 that the project ?1 has to know: changes of its own memories, of memories about the user,
-- and of memories of other projects in its workspace.
-- Changes of other projects are returned in another form. If a project updates or restores a memory in a category that
-- the workspace shares, the change becomes "restore", because this memory may be new here. A "delete" stays a "delete".
-- Any other change becomes "archive". A "delete" or "archive" of another project has no content.
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
