-- The fidelities of the compartments are averaged, weighted by raw tokens. A compartment without raw tokens has the
-- weight of one token. start_ordinal and end_ordinal are the range of the compartment with the lowest fidelity.
SELECT
	count(*),
	-- This max is a subquery: with two min or max, SQLite would take the ordinals from an arbitrary row.
	coalesce((SELECT max(end_ordinal) FROM compartments WHERE harness = ?1 AND session_id = ?2), 0),
	coalesce(sum(raw_tokens), 0),
	coalesce(sum(fidelity * max(raw_tokens, 1)) / sum(max(raw_tokens, 1)), 0),
	count(*) FILTER (WHERE made_by = 'extractive'),
	coalesce(min(fidelity), 0), start_ordinal, end_ordinal
FROM compartments INDEXED BY compartments_figures -- the index avoids the table, which holds the texts
WHERE harness = ?1 AND session_id = ?2
