SELECT
	pass, cause, bust, bust_cause,
	iif(verdict = 'steady', 0, resent_tokens), iif(verdict = 'steady', 0, removed_tokens), -- a steady pass may have weighed a bust
	coalesce(input_tokens, 0), coalesce(cache_read, 0), coalesce(cache_write, 0)
FROM passes
WHERE harness = ? AND session_id = ? AND pass > ? AND pass < ?
ORDER BY pass
