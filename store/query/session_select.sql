SELECT
	harness, session_id, directory, parent, mode, provider, model,
	epoch, tag_counter, passes, busts, wire_messages, wire_chain,
	input_tokens, cache_read, cache_write, prompt_tokens,
	sticky_date, sticky_date_epoch, system_hash, system_tokens,
	raw_messages, raw_chain, explicit_flush,
	last_pass_at, created_at, updated_at,
	profile, show_gaps, todo_message, todo_state, reclaim_up_to,
	relief_of, relief_tokens, stuck_tag, stuck_grace, stuck_band,
	overflow_at, overflow_pass,
	binds, preamble, agent, lost_blocks, lost_tokens,
	system_text, system_preamble, system_pending, system_at,
	overflow_tokens, gauge_of, gauge_tokens, gauge_own, gauge_base,
	title,
	rent_paid, rent_coverable, rent_removable, rent_price, rent_queued, rent_messages, rent_grew_at,
	raw_tokens, project
FROM sessions
