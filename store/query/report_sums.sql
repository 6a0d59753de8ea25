SELECT
	kind, units, tokens, input_tokens,
	dropped_units, dropped_tokens, dropped_input_tokens
FROM unit_sums
WHERE harness = ? AND session_id = ?
ORDER BY kind
