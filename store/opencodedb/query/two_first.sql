-- Returns a row if OpenCode 1 has stored the message under the same id, with a text.
SELECT 1
FROM message AS m
WHERE m.session_id = ?1 AND m.id = ?2 AND EXISTS (
	SELECT 1 FROM part AS p WHERE p.message_id = m.id AND json_valid(p.data) AND json_extract(p.data, '$.type') <> 'compaction'
)
