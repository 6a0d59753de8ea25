-- A run (?2) of a project's dreamer (?1) was undone. So the memories that the run changed no longer count as results of
-- the run's calls. The store had credited each change to the newest call before it, so the calls are found by their
-- times.
UPDATE agent_calls
SET memories = 0
WHERE id IN (
	SELECT (SELECT max(k.id) FROM agent_calls AS k WHERE k.agent = 'dreamer' AND k.project = ?1 AND k.at <= c.at)
	FROM memory_changes AS c
	WHERE c.project = ?1 AND c.run = ?2
)
