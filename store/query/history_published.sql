UPDATE histories
SET frontier       = max(frontier, ?3),
	pending_marker = CASE WHEN ?4 = '' THEN pending_marker ELSE ?4 END,
	publishes      = publishes + 1,
	extracted      = extracted + ?5,
	-- Compartments without a model say nothing about the models. ?6 says why a model's
	-- answer was not taken.
	failures       = CASE WHEN ?6 <> '' THEN failures + 1 WHEN ?5 THEN failures ELSE 0 END,
	last_error     = CASE WHEN ?6 <> '' THEN ?6 WHEN ?5 THEN last_error ELSE '' END,
	failed_at      = CASE WHEN ?6 <> '' THEN ?7 WHEN ?5 THEN failed_at ELSE 0 END,
	retry_pass     = CASE WHEN ?6 <> '' THEN ?8 WHEN ?5 THEN retry_pass ELSE 0 END,
	no_head        = 0
WHERE harness = ?1 AND session_id = ?2
