SELECT id, data
FROM part
WHERE message_id = ?
ORDER BY id
