-- A memory that is learned again never expires.
INSERT INTO memories (
	project, category, content, hash, importance, source, source_harness, source_session,
	seen_at, created_at, updated_at, directory
)
VALUES (
	?1, ?2, ?3, ?4, 50, ?5, ?6, ?7, ?8, ?8, ?8,
	coalesce((SELECT directory FROM sessions WHERE harness = ?6 AND session_id = ?7), '')
)
ON CONFLICT (project, category, hash) DO UPDATE SET
	seen_count = seen_count + 1,
	seen_at    = excluded.seen_at,
	directory  = excluded.directory,
	expires_at = 0
