INSERT INTO queued_drops (harness, session_id, tag, unit_key, queued_at)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT (harness, session_id, tag) DO NOTHING
