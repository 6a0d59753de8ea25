-- Deletes the edits that have replaced the content of a unit. It does not delete edits that have removed injected
-- blocks or reasoning. The unit's message has content again, so it is no longer a shell.
DELETE FROM edits
WHERE harness = ?1 AND session_id = ?2 AND (
	tag = ?3 AND kind IN ('clamp', 'withhold', 'skeleton', 'drop', 'compress')
	OR kind = 'shell' AND tag IN (
		SELECT beside.tag
		FROM units AS beside
		JOIN units AS u USING (harness, session_id, message_key)
		WHERE u.harness = ?1 AND u.session_id = ?2 AND u.tag = ?3
	)
)
