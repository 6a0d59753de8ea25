INSERT INTO heads (
	harness, session_id, epoch, generation, through_key, through_ordinal, after_summary, pinned,
	baseline, acknowledgement, delta, baseline_seq, delta_seq, baseline_tokens, delta_tokens,
	sections, memories, memory_id, change_id, folded_pass, folded_at, fold_reason, docs_hash, key_files
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (harness, session_id) DO UPDATE SET
	epoch           = excluded.epoch,
	generation      = excluded.generation,
	through_key     = excluded.through_key,
	through_ordinal = excluded.through_ordinal,
	after_summary   = excluded.after_summary,
	pinned          = excluded.pinned,
	baseline        = excluded.baseline,
	acknowledgement = excluded.acknowledgement,
	delta           = excluded.delta,
	baseline_seq    = excluded.baseline_seq,
	delta_seq       = excluded.delta_seq,
	baseline_tokens = excluded.baseline_tokens,
	delta_tokens    = excluded.delta_tokens,
	sections        = excluded.sections,
	memories        = excluded.memories,
	memory_id       = excluded.memory_id,
	change_id       = excluded.change_id,
	-- a pass with only a new delta has no fold reason
	folded_pass     = CASE WHEN excluded.fold_reason = '' THEN folded_pass ELSE excluded.folded_pass END,
	folded_at       = excluded.folded_at,
	fold_reason     = CASE WHEN excluded.fold_reason = '' THEN fold_reason ELSE excluded.fold_reason END,
	docs_hash       = excluded.docs_hash,
	key_files       = excluded.key_files
