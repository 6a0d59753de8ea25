SELECT
	harness, session_id, directory, parent, title, mode, provider, model, agent,
	epoch, tag_counter, passes, busts,
	wire_messages, wire_chain, raw_messages, raw_chain, raw_tokens,
	input_tokens, cache_read, cache_write, prompt_tokens,
	sticky_date, sticky_date_epoch, system_hash, system_tokens, system_text, system_preamble, system_pending, system_at,
	profile, binds, preamble, show_gaps, todo_message, todo_state, reclaim_up_to,
	lost_blocks, lost_tokens,
	relief_of, relief_tokens, stuck_tag, stuck_grace, stuck_band,
	gauge_of, gauge_tokens, gauge_own, gauge_base,
	rent_paid, rent_coverable, rent_removable, rent_queued, rent_messages, rent_price, rent_grew_at,
	explicit_flush, overflow_at, overflow_pass, overflow_tokens,
	last_pass_at, updated_at, project,
	tail_text, tail_files, tail_inputs, tail_results, limit_tokens
FROM sessions
