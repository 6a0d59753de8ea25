WITH kept AS (
	SELECT model, input_tokens, cache_read, cache_write, output_tokens
	FROM agent_runs
	WHERE subject = ?1 AND agent = ?2
)
SELECT model, sum(input_tokens), sum(cache_read), sum(cache_write), sum(output_tokens)
FROM kept
GROUP BY model
UNION ALL
SELECT
	'',
	input_tokens - (SELECT total(input_tokens) FROM kept), cache_read - (SELECT total(cache_read) FROM kept),
	cache_write - (SELECT total(cache_write) FROM kept), output_tokens - (SELECT total(output_tokens) FROM kept)
FROM agent_work
WHERE subject = ?1 AND agent = ?2
