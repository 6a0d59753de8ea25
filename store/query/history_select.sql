SELECT
	pending_marker, applied_marker,
	publishes, extracted,
	recomp <> '', recomp_start, recomp_end,
	coalesce((SELECT max(end_ordinal) FROM recomp_compartments AS r WHERE r.harness = ?1 AND r.session_id = ?2), 0)
FROM histories
WHERE harness = ?1 AND session_id = ?2
