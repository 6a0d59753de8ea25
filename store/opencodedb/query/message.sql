SELECT data
FROM message
WHERE id = ? AND json_valid(data) AND json_type(data) = 'object'
