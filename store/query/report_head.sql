SELECT
	epoch, through_ordinal, baseline_seq, delta_seq, baseline_tokens, delta_tokens,
	sections, folded_pass, folded_at, fold_reason
FROM heads
WHERE harness = ? AND session_id = ? AND baseline <> ''
