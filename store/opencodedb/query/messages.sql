-- The messages of a session in OpenCode's order. The second column is true for the answer of a compaction. The column
-- `data` may contain invalid JSON.
SELECT id,
	CASE WHEN instr(data, '"summary"') > 0 AND json_valid(data) -- parsing each message would take long
		THEN coalesce(json_extract(data, '$.role') = 'assistant'
			AND json_type(data, '$.summary') = 'true'
			AND json_extract(data, '$.finish') = 'stop', 0)
		ELSE 0
	END
FROM message
WHERE session_id = ?
ORDER BY time_created, id
