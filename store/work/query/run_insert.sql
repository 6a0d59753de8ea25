INSERT INTO agent_runs (
	subject, agent, run, harness, session_id, status, reason, model,
	input_tokens, output_tokens, cache_read, cache_write, started_at, ended_at,
	kind, pass, start_ordinal, end_ordinal, produced, fidelity, made_by, unconfirmed_quotes, unconfirmed_facts
)
SELECT
	subject, agent, runs, harness, session_id, ?3, ?4, ?5,
	?6, ?7, ?8, ?9, ?10, ?11,
	?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20
FROM agent_work
WHERE subject = ?1 AND agent = ?2
