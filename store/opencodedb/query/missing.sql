-- The columns that this package reads, but that the database lacks. `version` is the version of OpenCode that has the
-- column.
WITH needed (version, name, col) AS (
	VALUES (1, 'session', 'id'),
		(1, 'message', 'id'), (1, 'message', 'session_id'), (1, 'message', 'time_created'), (1, 'message', 'data'),
		(1, 'part', 'id'), (1, 'part', 'message_id'), (1, 'part', 'data'),
		(2, 'session_message', 'id'), (2, 'session_message', 'session_id'), (2, 'session_message', 'type'),
		(2, 'session_message', 'seq'), (2, 'session_message', 'data')
)
SELECT version, name || '.' || col
FROM needed
WHERE NOT EXISTS (SELECT 1 FROM pragma_table_info(needed.name) AS known WHERE known.name = needed.col)
