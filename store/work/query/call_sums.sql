-- The cost of the calls of a project (?1) since ?3. ?2 selects the calls of all agents (''), of the historian, or of
-- all other agents.
SELECT coalesce(sum(counted), 0), coalesce(sum(counted_tokens), 0)
FROM agent_calls
WHERE project = ?1 AND at >= ?3
	AND (?2 = '' OR (?2 = 'historian') = (agent = 'historian'))
