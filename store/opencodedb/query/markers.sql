-- The host's markers: the ids of the boundary, the summary, the boundary's compaction part, and the summary's text
-- part. The id of a missing row is ''.
SELECT coalesce(json_extract(m.data, '$.parentID'), ''), m.id,
	coalesce((SELECT p.id FROM part p
		WHERE p.message_id = json_extract(m.data, '$.parentID') AND json_valid(p.data) AND json_extract(p.data, '$.type') = 'compaction'), ''),
	coalesce((SELECT min(p.id) FROM part p WHERE p.message_id = m.id), '')
FROM message m
WHERE (?1 = '' OR m.session_id = ?1) AND json_valid(m.data)
	AND json_extract(m.data, '$.providerID') = 'magicctx' AND json_type(m.data, '$.summary') = 'true'
