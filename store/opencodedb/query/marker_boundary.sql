-- This query returns the newest prompt of the user at or before a message. The columns are: the id and the time of the
-- prompt, the session's directory, whether the prompt is a request of OpenCode for a compaction, and whether a finished
-- answer follows the prompt. OpenCode orders messages by time and id.
WITH through AS (
	SELECT time_created AS at, id FROM message WHERE session_id = ?1 AND id = ?2
), boundary AS (
	SELECT m.id, m.time_created AS at
	FROM message m, through t
	WHERE m.session_id = ?1 AND (m.time_created, m.id) <= (t.at, t.id)
		AND json_valid(m.data) AND json_extract(m.data, '$.role') = 'user'
	ORDER BY m.time_created DESC, m.id DESC
	LIMIT 1
)
SELECT b.id, b.at, s.directory,
	EXISTS (SELECT 1 FROM part p WHERE p.message_id = b.id AND json_valid(p.data) AND json_extract(p.data, '$.type') = 'compaction'),
	EXISTS (
		SELECT 1 FROM message m
		WHERE m.session_id = ?1 AND m.time_created > b.at + 1 AND json_valid(m.data)
			AND json_extract(m.data, '$.role') = 'assistant' AND json_extract(m.data, '$.finish') IS NOT NULL
	)
FROM boundary b, session s
WHERE s.id = ?1
