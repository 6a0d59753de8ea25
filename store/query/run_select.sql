SELECT
	run, kind, status, reason, pass, start_ordinal, end_ordinal,
	produced, discarded_last, facts, importance_min, importance_max, importance_mean,
	fidelity, made_by, model, input_tokens, output_tokens, cache_read, cache_write, started_at, ended_at,
	unconfirmed_quotes, unconfirmed_facts
FROM historian_runs
WHERE harness = ?1 AND session_id = ?2 AND (?3 = '' OR status = ?3)
ORDER BY run DESC
LIMIT ?4
