SELECT id, data
FROM part
WHERE message_id = ? AND json_valid(data) AND json_type(data) = 'object'
ORDER BY id
