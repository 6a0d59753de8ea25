INSERT INTO agent_calls (
	at, project, directory, agent, holder, model,
	input_tokens, output_tokens, cache_read, cache_write, counted, counted_tokens, is_open
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 0, 0, 0, ?7, ?8, 1)
