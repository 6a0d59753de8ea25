CREATE TABLE projects (
	id       INTEGER PRIMARY KEY,
	identity TEXT    NOT NULL UNIQUE
) STRICT;

CREATE TABLE sessions (
	id         INTEGER PRIMARY KEY,
	harness    TEXT    NOT NULL,
	session    TEXT    NOT NULL,
	project    INTEGER NOT NULL REFERENCES projects,
	directory  TEXT    NOT NULL DEFAULT '',
	source     TEXT    NOT NULL DEFAULT '', -- the file that the session was read from
	stamp      TEXT    NOT NULL DEFAULT '', -- the state of the session in it when it was read to its end; '' before
	-- the newest message that was read: its ordinal and key
	through    INTEGER NOT NULL DEFAULT 0,
	tail       TEXT    NOT NULL DEFAULT '',
	UNIQUE (harness, session)
) STRICT;

-- A part of a message that a search can find.
CREATE TABLE chunks (
	id      INTEGER PRIMARY KEY AUTOINCREMENT, -- also the row of its terms, so no id may come again
	session INTEGER NOT NULL REFERENCES sessions,
	message TEXT    NOT NULL, -- key
	hash    INTEGER NOT NULL, -- of the whole message
	kind    TEXT    NOT NULL CHECK (kind IN ('text', 'rule', 'decision', 'command', 'error', 'read', 'write', 'commit')),
	role    TEXT    NOT NULL CHECK (role = 'user' OR role = 'agent' OR role = 'tool'),
	first   INTEGER NOT NULL, -- ordinals
	last    INTEGER NOT NULL,
	at      INTEGER NOT NULL, -- Unix ms, 0 if unknown
	subject TEXT    NOT NULL DEFAULT '', -- the tool of an error, the path of a file
	status  INTEGER,                     -- exit status of a command
	text    TEXT    NOT NULL,
	context TEXT    NOT NULL DEFAULT ''  -- of the message before it
) STRICT;

CREATE INDEX chunks_of_message ON chunks (session, message);
CREATE INDEX chunks_by_place ON chunks (session, last);

-- A file is listed once for each session and use, with its newest message.
CREATE UNIQUE INDEX chunks_of_file ON chunks (session, kind, subject) WHERE kind = 'read' OR kind = 'write';

-- The terms of a chunk as words, and its project as a word that no text contains, for example #12.
CREATE VIRTUAL TABLE terms USING fts5 (
	words, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars '#'"
);

-- The space of the vectors. There is one at most: vectors of two spaces cannot be compared.
CREATE TABLE space (
	id         INTEGER PRIMARY KEY CHECK (id = 1),
	name       TEXT    NOT NULL UNIQUE,
	dimensions INTEGER NOT NULL,
	through    INTEGER NOT NULL -- the newest chunk that was turned into a vector, or skipped
) STRICT;

-- The vectors of the newest texts.
CREATE TABLE vectors (
	chunk   INTEGER PRIMARY KEY,
	session INTEGER NOT NULL,
	vector  BLOB    NOT NULL -- of length 1; float32, little-endian
) STRICT;

CREATE INDEX vectors_of_session ON vectors (session);

CREATE TRIGGER vector_of_deleted_chunk AFTER DELETE ON chunks BEGIN
	DELETE FROM vectors WHERE chunk = old.id;
END;
