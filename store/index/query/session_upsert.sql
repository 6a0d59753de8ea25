-- If the indexer reads a session again, the session keeps its rows. If the session has moved since, its project and
-- directory change.
INSERT INTO sessions (harness, session, project, directory, source)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (harness, session) DO UPDATE SET
	project   = excluded.project,
	directory = CASE WHEN excluded.directory = '' THEN directory ELSE excluded.directory END,
	source    = CASE WHEN excluded.source = '' THEN source ELSE excluded.source END
RETURNING id, through, tail, stamp
