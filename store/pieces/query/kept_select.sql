SELECT u.tag, u.kind, u.tool, u.tokens, u.input_tokens, u.unit_key, u.message_key, EXISTS (
	SELECT 1 FROM edits AS e
	WHERE e.harness = ?1 AND e.session_id = ?2 AND e.tag = u.tag AND e.kind IN ('clamp', 'withhold', 'skeleton', 'drop', 'compress')
)
FROM units AS u
WHERE u.harness = ?1 AND u.session_id = ?2 AND u.kept > 0
ORDER BY u.kept, u.tag
