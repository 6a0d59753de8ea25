SELECT coalesce(sum(counted), 0), coalesce(sum(counted_tokens), 0)
FROM agent_calls
WHERE project = ?1 AND (?2 = '' OR agent = ?2) AND at >= ?3
