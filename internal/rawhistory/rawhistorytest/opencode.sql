-- The tables of OpenCode 1.18 that hold messages, without the columns that no reader needs.
PRAGMA journal_mode = WAL;

CREATE TABLE session (
	id           TEXT PRIMARY KEY,
	directory    TEXT NOT NULL,
	title        TEXT NOT NULL,
	time_created INTEGER NOT NULL,
	time_updated INTEGER NOT NULL
);

CREATE TABLE message (
	id           TEXT PRIMARY KEY,
	session_id   TEXT NOT NULL REFERENCES session(id) ON DELETE CASCADE,
	time_created INTEGER NOT NULL,
	time_updated INTEGER NOT NULL,
	data         TEXT NOT NULL
);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);

CREATE TABLE part (
	id           TEXT PRIMARY KEY,
	message_id   TEXT NOT NULL REFERENCES message(id) ON DELETE CASCADE,
	session_id   TEXT NOT NULL,
	time_created INTEGER NOT NULL,
	time_updated INTEGER NOT NULL,
	data         TEXT NOT NULL
);
CREATE TABLE migration (id TEXT PRIMARY KEY, time_completed INTEGER NOT NULL);
INSERT INTO migration VALUES ('20260622202450_simplify_session_input', 1);

CREATE INDEX part_message_id_id_idx ON part (message_id, id);
