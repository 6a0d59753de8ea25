-- The memories beyond the newest ones that the historian has learned of a project. What a
-- user or an agent has stored, or made permanent, stays.
DELETE FROM memories
WHERE id IN (
	SELECT id
	FROM memories
	WHERE project = ?1 AND source = 'historian' AND status <> 'permanent'
	ORDER BY seen_at DESC, id DESC
	LIMIT -1 OFFSET ?2
)
