SELECT
	(SELECT units FROM unit_sums WHERE harness = ?1 AND session_id = ?2),
	(SELECT dropped_units FROM unit_sums WHERE harness = ?1 AND session_id = ?2),
	(SELECT count(*) FROM queued_drops WHERE harness = ?1 AND session_id = ?2),
	(SELECT dropped_tokens FROM unit_sums WHERE harness = ?1 AND session_id = ?2)
