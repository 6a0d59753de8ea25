-- The changes of a run (?2) of a project's dreamer (?1) are undone, so the calls that made them have no result. Each
-- change was credited to the newest call before it.
UPDATE agent_calls
SET memories = 0
WHERE id IN (
	SELECT (SELECT max(k.id) FROM agent_calls AS k WHERE k.agent = 'dreamer' AND k.project = ?1 AND k.at <= c.at)
	FROM memory_changes AS c
	WHERE c.project = ?1 AND c.run = ?2
)
