SELECT
	epoch, generation,
	generation <> coalesce((SELECT h.generation FROM histories AS h WHERE h.harness = ?1 AND h.session_id = ?2), 0),
	through_key, through_ordinal, after_summary, pinned,
	baseline, acknowledgement, delta, baseline_seq, delta_seq, baseline_tokens, delta_tokens,
	sections, memories, memory_id, change_id, folded_pass, folded_at, fold_reason, docs_hash, key_files
FROM heads
WHERE harness = ?1 AND session_id = ?2
