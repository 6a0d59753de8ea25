-- The columns that this package reads and that the database does not have.
WITH needed (name, col) AS (
	VALUES ('session', 'id'),
		('message', 'id'), ('message', 'session_id'), ('message', 'time_created'), ('message', 'data'),
		('part', 'id'), ('part', 'message_id'), ('part', 'data')
)
SELECT name || '.' || col
FROM needed
WHERE NOT EXISTS (SELECT 1 FROM pragma_table_info(needed.name) AS known WHERE known.name = needed.col)
