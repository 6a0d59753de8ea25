-- After an undo, memory ?1 is as it was before the run ended it at ?2: it expires at ?3, and was last changed before the run.
UPDATE memories
SET expires_at = ?3,
	updated_at = (SELECT ifnull(max(c.at), memories.created_at) FROM memory_changes AS c WHERE c.memory = ?1 AND c.at < ?2)
WHERE id = ?1
