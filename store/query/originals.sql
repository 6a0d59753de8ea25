SELECT s.harness, s.session_id, s.last_pass_at, 2 AS place
FROM units AS u JOIN sessions AS s USING (harness, session_id)
WHERE u.harness = ?1 AND u.fingerprint <> 0 AND u.fingerprint = ?4
	AND s.directory = ?3 AND s.session_id <> ?2
UNION
SELECT s.harness, s.session_id, s.last_pass_at, 1
FROM sessions AS s JOIN units AS u USING (harness, session_id)
WHERE s.session_id = ?2 AND s.harness <> ?1 AND s.directory = ?3
	AND u.fingerprint <> 0 AND u.fingerprint = ?4
ORDER BY place, last_pass_at DESC, session_id
LIMIT ?5
