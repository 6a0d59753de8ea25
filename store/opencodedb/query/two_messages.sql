-- The messages of a session of OpenCode 2 that appear in its array under an id, in the order of the array. Messages
-- without content are left out, because the array lacks them. Changes of instructions and effort are left out, because
-- they have no id in the array. The JSON in data may be invalid.
SELECT id, type
FROM session_message
WHERE session_id = ? AND CASE
	WHEN NOT json_valid(data) THEN type IN ('user', 'assistant')
	WHEN type = 'user' THEN coalesce(json_extract(data, '$.text'), '') <> ''
		OR coalesce(json_array_length(data, '$.files'), 0) + coalesce(json_array_length(data, '$.skills'), 0) > 0
	WHEN type = 'assistant' THEN EXISTS (
		SELECT 1 FROM json_each(data, '$.content') AS part
		WHERE json_extract(part.value, '$.type') NOT IN ('text', 'reasoning')
			OR json_extract(part.value, '$.text') <> ''
			OR coalesce(json_extract(part.value, '$.state'), '{}') <> '{}' AND json_extract(part.value, '$.type') = 'reasoning'
	)
	WHEN type = 'shell' THEN coalesce(json_extract(data, '$.metadata.background'), 0) <> 1
	WHEN type = 'compaction' THEN json_extract(data, '$.status') = 'completed'
	ELSE type IN ('synthetic', 'skill', 'location-switched')
END
ORDER BY seq
