INSERT INTO withdrawn_compartments
SELECT
	harness, session_id,
	coalesce((SELECT max(w.seq) + 1 FROM withdrawn_compartments AS w WHERE w.harness = ?1 AND w.session_id = ?2), 0)
		+ row_number() OVER (ORDER BY seq) - 1,
	start_ordinal, end_ordinal, message_keys, after_summary, title, p1, p2, p3, p4,
	importance, episode, missing, rules, fidelity, made_by, model, raw_tokens, created_at
FROM compartments
WHERE harness = ?1 AND session_id = ?2 AND end_ordinal >= ?3
