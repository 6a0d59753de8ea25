SELECT
	pass, verdict, bust, bust_cause, edits_added > 0, resent_tokens, removed_tokens,
	coalesce(input_tokens, 0), coalesce(cache_read, 0), coalesce(cache_write, 0)
FROM passes
WHERE harness = ? AND session_id = ? AND pass > ? AND pass < ?
ORDER BY pass
