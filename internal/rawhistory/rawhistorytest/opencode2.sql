-- The tables of OpenCode 2 that hold messages, without the columns that no reader needs. In the betas, the table
-- session_v2 is called session, as in version 1.
CREATE TABLE session_v2 (
	id           TEXT PRIMARY KEY,
	directory    TEXT NOT NULL,
	title        TEXT,
	time_created INTEGER NOT NULL,
	time_updated INTEGER NOT NULL
);

CREATE TABLE session_message (
	id           TEXT PRIMARY KEY,
	session_id   TEXT NOT NULL,
	type         TEXT NOT NULL,
	seq          INTEGER NOT NULL,
	time_created INTEGER NOT NULL,
	time_updated INTEGER NOT NULL,
	data         TEXT NOT NULL
);
CREATE UNIQUE INDEX session_message_session_seq_idx ON session_message (session_id, seq);
