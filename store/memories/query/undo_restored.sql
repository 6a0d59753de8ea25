-- An undo brings back memory ?1, which a run had ended at ?2. The memory expires at ?3 again, and its last change is
-- again the last one before ?2.
UPDATE memories
SET expires_at = ?3,
	updated_at = (SELECT ifnull(max(c.at), memories.created_at) FROM memory_changes AS c WHERE c.memory = ?1 AND c.at < ?2)
WHERE id = ?1
