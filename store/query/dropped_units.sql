-- A unit that was a skeleton and was dropped later has two edits. The query returns the stronger one.
SELECT u.tag, u.kind, u.tool, u.tokens, u.input_tokens, u.unit_key, u.message_key, e.kind, e.pass, e.payload, p.at, p.cause
FROM edits AS e
JOIN units AS u USING (harness, session_id, tag)
LEFT JOIN passes AS p USING (harness, session_id, pass)
WHERE e.harness = ?1 AND e.session_id = ?2 AND (e.kind = 'drop' OR e.kind = 'skeleton' AND NOT EXISTS (
	SELECT 1 FROM edits AS d
	WHERE d.harness = ?1 AND d.session_id = ?2 AND d.tag = e.tag AND d.kind = 'drop'
))
ORDER BY e.pass DESC, u.tag DESC
