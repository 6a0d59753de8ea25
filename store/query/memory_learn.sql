-- A memory that is learned again does not expire before its new date.
INSERT INTO memories (
	project, category, content, hash, importance, source, source_harness, source_session,
	seen_at, created_at, updated_at, expires_at, directory
)
VALUES (
	?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?9, ?10,
	coalesce((SELECT directory FROM sessions WHERE harness = ?7 AND session_id = ?8), '')
)
ON CONFLICT (project, category, hash) DO UPDATE SET
	seen_count = seen_count + 1,
	seen_at    = excluded.seen_at,
	directory  = excluded.directory,
	expires_at = CASE
		WHEN expires_at = 0 OR excluded.expires_at = 0 THEN 0
		ELSE max(expires_at, excluded.expires_at)
	END
