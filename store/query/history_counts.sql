-- A compartment without raw tokens weighs as much as one token.
SELECT
	count(*),
	coalesce(max(end_ordinal), 0),
	coalesce(sum(raw_tokens), 0),
	coalesce(sum(fidelity * max(raw_tokens, 1)) / sum(max(raw_tokens, 1)), 0)
FROM compartments
WHERE harness = ?1 AND session_id = ?2
