-- The size of a message with its parts, in bytes.
SELECT (SELECT coalesce(sum(octet_length(data)), 0) FROM message WHERE id = ?1)
	+ (SELECT coalesce(sum(octet_length(data)), 0) FROM part WHERE message_id = ?1)
