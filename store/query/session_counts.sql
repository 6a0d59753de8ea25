SELECT
	(SELECT count(*) FROM units WHERE harness = ?1 AND session_id = ?2),
	(SELECT count(DISTINCT tag) FROM edits WHERE harness = ?1 AND session_id = ?2 AND kind IN ('drop', 'skeleton')),
	(SELECT count(*) FROM queued_drops WHERE harness = ?1 AND session_id = ?2)
