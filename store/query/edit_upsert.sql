INSERT INTO edits (harness, session_id, tag, kind, pass, payload)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (harness, session_id, tag, kind) DO UPDATE SET
	pass    = excluded.pass,
	payload = excluded.payload
