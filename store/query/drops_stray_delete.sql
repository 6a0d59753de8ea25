DELETE FROM queued_drops
WHERE harness = ?1 AND session_id = ?2 AND EXISTS (
	SELECT 1 FROM units AS u
	WHERE u.harness = ?1 AND u.session_id = ?2 AND u.tag = queued_drops.tag AND u.unit_key <> queued_drops.unit_key
)
