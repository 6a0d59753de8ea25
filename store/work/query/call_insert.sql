INSERT INTO agent_calls (
	at, project, directory, agent, holder,
	model, input_tokens, output_tokens, cache_read, cache_write, cost
)
VALUES (
	?1, coalesce(nullif(?2, ''), (SELECT project FROM sessions WHERE harness = ?3 AND session_id = ?4), ''), ?5, ?6, ?7,
	?8, ?9, ?10, ?11, ?12, ?13
)
