INSERT INTO sessions (
	harness, session_id, directory, parent, mode, provider, model,
	epoch, tag_counter, passes, busts, wire_messages, wire_chain,
	raw_messages, raw_chain, last_pass_at, created_at, updated_at
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?17)
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
	explicit_flush = CASE WHEN ?18 THEN 0 ELSE explicit_flush END
