SELECT
	(SELECT coalesce(sum(units), 0) FROM unit_sums WHERE harness = ?1 AND session_id = ?2),
	(SELECT coalesce(sum(dropped_units), 0) FROM unit_sums WHERE harness = ?1 AND session_id = ?2),
	(SELECT count(*) FROM queued_drops WHERE harness = ?1 AND session_id = ?2)
