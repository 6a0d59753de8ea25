INSERT INTO memories (
	project, category, content, hash, importance, source, source_harness, source_session, source_message,
	expires_at, status, directory, superseded_by, seen_count, seen_at, created_at, updated_at, test
)
VALUES (
	?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,
	coalesce((SELECT directory FROM sessions WHERE harness = ?7 AND session_id = ?8), ?12), ?13, ?14, ?15, ?16, ?17, ?18
)
