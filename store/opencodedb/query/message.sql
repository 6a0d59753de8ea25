SELECT data
FROM message
WHERE id = ?
