SELECT
	CASE WHEN holder <> '' AND expires_at > ?3 THEN acquired_at ELSE 0 END,
	failures, last_error, failed_at, retry,
	throttle, unfinished,
	runs, input_tokens, cache_read, cache_write, output_tokens
FROM agent_work
WHERE subject = ?1 AND agent = ?2
