UPDATE histories
SET project        = CASE WHEN ?3 = '' THEN project ELSE ?3 END,
	frontier       = max(frontier, ?4),
	pending_marker = CASE WHEN ?5 = '' THEN pending_marker ELSE ?5 END,
	publishes      = publishes + 1,
	failures       = 0,
	last_error     = '',
	failed_at      = 0,
	retry_pass     = 0,
	no_head        = 0
WHERE harness = ?1 AND session_id = ?2
