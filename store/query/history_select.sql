SELECT
	frontier,
	CASE WHEN holder <> '' AND expires_at > ?3 THEN acquired_at ELSE 0 END,
	failures, last_error, failed_at, retry_pass,
	throttle, no_head,
	pending_marker, applied_marker,
	runs, publishes, input_tokens, cache_read, cache_write, output_tokens,
	extracted,
	recomp <> '', recomp_start, recomp_end,
	coalesce((SELECT max(end_ordinal) FROM recomp_compartments AS r WHERE r.harness = ?1 AND r.session_id = ?2), 0)
FROM histories
WHERE harness = ?1 AND session_id = ?2
