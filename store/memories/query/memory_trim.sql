-- Deletes all but the newest memories that the historian has learned for a project. Memories that a user or an agent
-- has stored, or made permanent, stay.
DELETE FROM memories
WHERE id IN (
	SELECT id
	FROM memories
	WHERE project = ?1 AND source = 'historian' AND status <> 'permanent'
	ORDER BY seen_at DESC, id DESC
	LIMIT -1 OFFSET ?2
)
