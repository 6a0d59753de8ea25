UPDATE removals SET rereads = rereads + 1, reread = min(tokens, reread + ?5)
WHERE harness = ?1 AND session_id = ?2 AND (pass, rule) = (
	SELECT pass, rule FROM (
		SELECT pass, payload AS rule FROM edits
		WHERE harness = ?1 AND session_id = ?2 AND tag = ?3 AND kind IN ('withhold', 'skeleton', 'drop')
		UNION ALL
		SELECT pass, rule FROM removals
		WHERE harness = ?1 AND session_id = ?2 AND rule = ?7 AND ?4 > 0 AND through >= ?4
	)
	ORDER BY pass
	LIMIT 1
) AND pass >= ?6
