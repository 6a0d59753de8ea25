INSERT INTO memories (
	project, category, content, hash, importance, source, source_harness, source_session, source_message,
	seen_at, created_at, updated_at, expires_at, status, directory, test
)
VALUES (
	?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10, ?10, ?11, ?12,
	coalesce((SELECT directory FROM sessions WHERE harness = ?7 AND session_id = ?8), ?13), ?14
)
