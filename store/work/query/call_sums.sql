-- The cost of a project's (?1) calls since ?3. ?2 selects all agents (''), the historian, or all others.
SELECT coalesce(sum(counted), 0), coalesce(sum(counted_tokens), 0)
FROM agent_calls
WHERE project = ?1 AND at >= ?3
	AND (?2 = '' OR (?2 = 'historian') = (agent = 'historian'))
