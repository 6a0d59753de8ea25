-- For each unit of a message, the newest edit that removes its content. This edit is also the strongest, because later
-- edits are stronger: first "withhold", then "skeleton", then "drop".
SELECT u.tag, u.kind, u.tool, e.kind, e.payload, e.pass, p.at, p.cause
FROM units AS u
LEFT JOIN edits AS e ON e.harness = u.harness AND e.session_id = u.session_id AND e.tag = u.tag
	AND e.kind = (
		SELECT s.kind FROM edits AS s
		WHERE s.harness = u.harness AND s.session_id = u.session_id AND s.tag = u.tag AND s.kind IN ('withhold', 'skeleton', 'drop')
		ORDER BY s.pass DESC
		LIMIT 1
	)
LEFT JOIN passes AS p ON p.harness = e.harness AND p.session_id = e.session_id AND p.pass = e.pass
WHERE u.harness = ?1 AND u.session_id = ?2 AND u.message_key = ?3
ORDER BY u.tag
