SELECT
	run, status, reason, model, input_tokens, output_tokens, cache_read, cache_write, started_at, ended_at,
	kind, pass, start_ordinal, end_ordinal, produced, fidelity, made_by, unconfirmed_quotes, unconfirmed_facts
FROM agent_runs
WHERE subject = ?1 AND agent = ?2 AND (?3 = '' OR status = ?3)
ORDER BY run DESC
LIMIT ?4
