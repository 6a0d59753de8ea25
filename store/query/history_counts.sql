-- A compartment without raw tokens weighs one token. The ordinals belong to the compartment with the lowest fidelity.
SELECT
	count(*),
	-- Beside a second min or max, SQLite would take the ordinals from an arbitrary row.
	coalesce((SELECT max(end_ordinal) FROM compartments WHERE harness = ?1 AND session_id = ?2), 0),
	coalesce(sum(raw_tokens), 0),
	coalesce(sum(fidelity * max(raw_tokens, 1)) / sum(max(raw_tokens, 1)), 0),
	count(*) FILTER (WHERE made_by = 'extractive'),
	coalesce(min(fidelity), 0), start_ordinal, end_ordinal
FROM compartments INDEXED BY compartments_figures -- the index avoids the table, which holds the texts
WHERE harness = ?1 AND session_id = ?2
