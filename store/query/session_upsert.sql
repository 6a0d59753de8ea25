INSERT INTO sessions (
	harness, session_id, directory, parent, mode, provider, model,
	epoch, tag_counter, passes, busts, wire_messages, wire_chain,
	raw_messages, raw_chain, last_pass_at, created_at, updated_at,
	profile, show_gaps, todo_message, todo_state, reclaim_up_to,
	relief_of, relief_tokens, stuck_tag, stuck_grace, stuck_band
)
VALUES (
	?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?17,
	?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28
)
ON CONFLICT (harness, session_id) DO UPDATE SET
	directory      = excluded.directory,
	parent         = excluded.parent,
	mode           = excluded.mode,
	provider       = excluded.provider,
	model          = excluded.model,
	epoch          = excluded.epoch,
	tag_counter    = max(tag_counter, excluded.tag_counter),
	passes         = excluded.passes,
	busts          = excluded.busts,
	wire_messages  = excluded.wire_messages,
	wire_chain     = excluded.wire_chain,
	raw_messages   = excluded.raw_messages,
	raw_chain      = excluded.raw_chain,
	last_pass_at   = excluded.last_pass_at,
	updated_at     = excluded.updated_at,
	profile        = excluded.profile,
	show_gaps      = excluded.show_gaps,
	todo_message   = excluded.todo_message,
	todo_state     = excluded.todo_state,
	reclaim_up_to  = excluded.reclaim_up_to,
	relief_of      = excluded.relief_of,
	relief_tokens  = excluded.relief_tokens,
	stuck_tag      = excluded.stuck_tag,
	stuck_grace    = excluded.stuck_grace,
	stuck_band     = excluded.stuck_band,
	explicit_flush = CASE WHEN ?18 THEN 0 ELSE explicit_flush END,
	overflow_at    = CASE WHEN ?29 THEN 0 ELSE overflow_at END
