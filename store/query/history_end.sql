SELECT
	coalesce((SELECT max(seq) FROM compartments WHERE harness = ?1 AND session_id = ?2), -1) + 1,
	coalesce((SELECT max(end_ordinal) FROM compartments WHERE harness = ?1 AND session_id = ?2), 0) + 1,
	coalesce((SELECT generation FROM histories WHERE harness = ?1 AND session_id = ?2), 0)
