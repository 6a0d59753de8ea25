-- An undo brings back memory ?1, which a run had archived or replaced at the time ?2. The memory gets its earlier
-- expiry time ?3 again, and its change time is set back to the last change before ?2.
UPDATE memories
SET expires_at = ?3,
	updated_at = (SELECT ifnull(max(c.at), memories.created_at) FROM memory_changes AS c WHERE c.memory = ?1 AND c.at < ?2)
WHERE id = ?1
