-- The cost of the calls in project ?1 since the time ?3. ?2 selects the agents: '' selects all of them, 'historian' only
-- the historian, and any other text all except the historian.
SELECT coalesce(sum(counted), 0), coalesce(sum(counted_tokens), 0)
FROM agent_calls
WHERE project = ?1 AND at >= ?3
	AND (?2 = '' OR (?2 = 'historian') = (agent = 'historian'))
