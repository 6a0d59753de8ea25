-- The newest runs of all agents come first. A call does not name its run, so the cost of a run is the sum of the
-- agent's calls for the project between the run's start and end. If two runs overlap, nobody knows which calls belong
-- to which run, so the cost of both is NULL.
WITH newest AS (
	SELECT r.*, coalesce(s.project, substr(r.subject, length('project ') + 1)) AS project, coalesce(s.title, '') AS title, coalesce(s.directory, '') AS directory
	FROM agent_runs AS r LEFT JOIN sessions AS s USING (harness, session_id)
	ORDER BY r.ended_at DESC, r.subject, r.agent, r.run DESC
	LIMIT ?1 + 50
)
SELECT
	r.agent, r.kind, r.status, r.reason, r.model, r.started_at, r.ended_at, r.start_ordinal, r.end_ordinal, r.produced, r.fidelity,
	r.input_tokens + r.output_tokens + r.cache_read + r.cache_write,
	coalesce(r.session_id, ''), r.title, r.project,
	coalesce(nullif(r.directory, ''), (SELECT directory FROM sessions WHERE project = r.project ORDER BY last_pass_at DESC LIMIT 1), ''),
	CASE WHEN NOT EXISTS (
		SELECT 1 FROM newest AS o
		WHERE o.agent = r.agent AND o.project = r.project AND (o.subject <> r.subject OR o.run <> r.run) AND o.started_at < r.ended_at AND o.ended_at > r.started_at
	) THEN (
		SELECT CASE WHEN count(*) = count(cost) THEN sum(cost) END FROM agent_calls
		WHERE agent = r.agent AND project = r.project AND at BETWEEN r.started_at AND r.ended_at
	) END,
	coalesce((
		-- only memories that nobody has changed since can be restored
		SELECT max(c.run) FROM memory_changes AS c JOIN memories AS m ON m.id = c.memory AND m.updated_at = c.at AND m.status IN ('archived', 'superseded')
		WHERE r.session_id IS NULL AND c.project = r.project AND c.run > 0 AND c.at BETWEEN r.started_at AND r.ended_at
	), 0)
FROM newest AS r
ORDER BY r.ended_at DESC, r.subject, r.agent, r.run DESC
LIMIT ?1
