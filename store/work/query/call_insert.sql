INSERT INTO agent_calls (
	at, project, directory, agent, harness, session, holder, model,
	input_tokens, output_tokens, cache_read, cache_write, counted, counted_tokens, is_open
)
VALUES (?1, ?2, ?3, ?4, nullif(?5, ''), nullif(?6, ''), ?7, ?8, 0, 0, 0, 0, ?9, ?10, 1)
