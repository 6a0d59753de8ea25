UPDATE histories
SET generation = generation + ?4,
	frontier = min(frontier, ?3),
	cut      = CASE
		WHEN holder = '' THEN 0
		WHEN cut = 0 THEN ?3
		ELSE min(cut, ?3)
	END
WHERE harness = ?1 AND session_id = ?2
