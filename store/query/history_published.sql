UPDATE histories
SET project        = CASE WHEN ?3 = '' THEN project ELSE ?3 END,
	frontier       = max(frontier, ?4),
	pending_marker = CASE WHEN ?5 = '' THEN pending_marker ELSE ?5 END,
	publishes      = publishes + 1,
	extracted      = extracted + ?6,
	-- Compartments without a model say nothing about the models. ?7 says why a model's
	-- answer was not taken.
	failures       = CASE WHEN ?7 <> '' THEN failures + 1 WHEN ?6 THEN failures ELSE 0 END,
	last_error     = CASE WHEN ?7 <> '' THEN ?7 WHEN ?6 THEN last_error ELSE '' END,
	failed_at      = CASE WHEN ?7 <> '' THEN ?8 WHEN ?6 THEN failed_at ELSE 0 END,
	retry_pass     = CASE WHEN ?7 <> '' THEN ?9 WHEN ?6 THEN retry_pass ELSE 0 END,
	no_head        = 0
WHERE harness = ?1 AND session_id = ?2
