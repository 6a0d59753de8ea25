-- This statement must run before usage_pass.sql, which overwrites the values that are subtracted here.
UPDATE sessions SET
	input_tokens  = sessions.input_tokens + ?4 - coalesce(p.input_tokens, 0),
	cache_read    = sessions.cache_read + ?5 - coalesce(p.cache_read, 0),
	cache_write   = sessions.cache_write + ?6 - coalesce(p.cache_write, 0),
	prompt_tokens = CASE
		WHEN EXISTS (
			SELECT 1 FROM passes
			WHERE harness = ?1 AND session_id = ?2 AND pass > ?3 AND input_tokens IS NOT NULL
		) THEN prompt_tokens
		ELSE ?4 + ?5 + ?6
	END,
	updated_at    = ?7
FROM passes AS p
WHERE sessions.harness = ?1 AND sessions.session_id = ?2
	AND p.harness = ?1 AND p.session_id = ?2 AND p.pass = ?3
