INSERT INTO historian_runs (
	harness, session_id, run, kind, status, reason, pass, start_ordinal, end_ordinal,
	produced, discarded_last, facts, importance_min, importance_max, importance_mean,
	fidelity, made_by, model, input_tokens, output_tokens, cache_read, cache_write, started_at, ended_at,
	unconfirmed_quotes, unconfirmed_facts
)
SELECT
	?1, ?2, runs, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
	?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25
FROM histories
WHERE harness = ?1 AND session_id = ?2
