-- The session with the newest compartment comes first. The average fidelity is weighted as in history_counts.sql.
SELECT
	s.harness, s.session_id, s.title, s.directory,
	count(*),
	max(c.end_ordinal),
	sum(c.raw_tokens),
	sum(c.fidelity * max(c.raw_tokens, 1)) / sum(max(c.raw_tokens, 1)),
	max(c.created_at)
FROM compartments AS c
JOIN sessions AS s USING (harness, session_id)
GROUP BY s.harness, s.session_id
ORDER BY max(c.created_at) DESC, s.harness, s.session_id
