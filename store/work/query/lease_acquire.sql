UPDATE agent_work
SET acquired_at = CASE WHEN holder = ?3 THEN acquired_at ELSE ?4 END,
	cut         = CASE WHEN holder = ?3 THEN cut ELSE 0 END,
	holder      = ?3,
	expires_at  = ?5
WHERE subject = ?1 AND agent = ?2 AND ?3 <> ''
	AND (holder = '' OR holder = ?3 OR expires_at <= ?4)
