SELECT s.provider, s.model, sum(coalesce(p.input_tokens, 0)), sum(coalesce(p.cache_read, 0)), sum(coalesce(p.cache_write, 0))
FROM sessions AS s
JOIN passes AS p USING (harness, session_id)
WHERE s.project = ?1 AND p.at >= ?2
GROUP BY s.provider, s.model
