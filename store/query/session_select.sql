SELECT
	harness, session_id, directory, parent, mode, provider, model,
	epoch, tag_counter, passes, busts, wire_messages, wire_chain,
	input_tokens, cache_read, cache_write, prompt_tokens,
	sticky_date, sticky_date_epoch, system_hash, system_tokens,
	raw_messages, raw_chain, explicit_flush,
	last_pass_at, created_at, updated_at,
	overflow_at, overflow_pass
FROM sessions
