-- The reports of an agent (?1) for projects since ?2, the newest first. Only one run of an agent works on a project at
-- a time, so the calls of a run are the calls that the agent made for the project during the run.
SELECT r.ended_at, r.reason, (
	SELECT CASE WHEN count(*) = count(c.cost) THEN coalesce(sum(c.cost), 0) END FROM agent_calls AS c
	WHERE c.agent = r.agent AND r.subject = 'project ' || c.project AND c.at BETWEEN r.started_at AND r.ended_at
)
FROM agent_runs AS r
WHERE r.agent = ?1 AND r.ended_at >= ?2
ORDER BY r.ended_at DESC
