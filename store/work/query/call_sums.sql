-- What the calls of a project (?1) have cost since ?3: those of all agents if ?2 is '', of the historian, or of all others.
SELECT coalesce(sum(counted), 0), coalesce(sum(counted_tokens), 0)
FROM agent_calls
WHERE project = ?1 AND at >= ?3
	AND (?2 = '' OR (?2 = 'historian') = (agent = 'historian'))
